import importlib.util
import json
import warnings
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.enhance import KeptTrainingFreeWarning
from kinfolk.experiments import attention_study as study
from kinfolk.experiments.cells import Cell, Measured, Results, run_cells
from kinfolk.experiments.markdown import NOT_YET
from kinfolk.experiments.resume import LARGEST_KIN_K, Data, finished_cells
from kinfolk.report.attention_study import LOOKS, draw, noise_panels, over_k_panels
from kinfolk.report.figures import to_svg

QUICK = dict(model="subgraph", attention="band", steps=2)


@cache
def tiny(name, seed):
    return Data.of(kf.datasets.person_like(30, seed=seed, dim=16))


def quiet(text):
    pass


def row_of(cell, **changes):
    how = dict(enr=None, trained=True, seconds=1.0, cpu_seconds=1.0, commit="abc", versions={})
    k = cell.k if isinstance(cell.k, int) else 12
    names = dict(key="", data=cell.data, method=cell.method, k=k, served_k=cell.served_k, seed=cell.seed)
    return Measured(**{**names, "map": 50.0, **how, **changes})


def made_up(cells, score):
    """Pairs as a study gives them, with a score of our own; the raw features know how noisy the graph is."""
    noise = lambda cell: cell.k / 200 if cell.method == "raw" and isinstance(cell.k, int) else None  # noqa: E731
    return [(cell, row_of(cell, map=score(cell), enr=noise(cell))) for cell in cells]


class TestCells:
    def test_a_second_run_measures_nothing(self, tmp_path, monkeypatch):
        cells = [Cell("tiny", "raw", None, k=5), Cell("tiny", "band", QUICK, k=5), Cell("tiny", "free", {}, False)]
        first = run_cells(cells, tiny, Results(tmp_path / "r.jsonl"), quiet)
        monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda *a: pytest.fail("measured again"))
        lines = []
        second = run_cells(cells, tiny, Results(tmp_path / "r.jsonl"), lines.append)
        assert second == first
        assert len(lines) == 3 and all("before" in line for line in lines)

    def test_a_killed_run_goes_on_after_the_last_whole_line(self, tmp_path):
        cells = [Cell("tiny", "free", {}, False, k=k) for k in (4, 6, 8)]
        whole = run_cells(cells, tiny, Results(tmp_path / "whole.jsonl"), quiet)
        text = (tmp_path / "whole.jsonl").read_text()
        second_line = text.index("\n") + 1
        (tmp_path / "cut.jsonl").write_text(text[: second_line + 40])
        results = Results(tmp_path / "cut.jsonl")
        assert len(results) == 1
        lines = []
        again = run_cells(cells, tiny, results, lines.append)
        assert [row.map for row in again] == [row.map for row in whole]
        assert ["before" in line for line in lines] == [True, False, False]
        assert [json.loads(line)["key"] for line in (tmp_path / "cut.jsonl").read_text().splitlines()] == [
            row.key for row in whole
        ]

    def test_a_damaged_line_in_the_middle_is_named(self, tmp_path):
        (tmp_path / "r.jsonl").write_text('{"half":\n' + json.dumps(asdict(row_of(Cell("a", "b")))) + "\n")
        with pytest.raises(InputError, match="line 1"):
            Results(tmp_path / "r.jsonl")

    def test_the_key_follows_settings_seed_k_and_data_but_not_the_name(self):
        cell, data = Cell("tiny", "band", QUICK, k=5), tiny("tiny", 0)
        others = [
            Cell("tiny", "band", {**QUICK, "steps": 3}, k=5),
            Cell("tiny", "band", QUICK, k=6),
            Cell("tiny", "band", QUICK, k=5, seed=1),
            Cell("tiny", "band", QUICK, k=5, served_k=6),
            Cell("tiny", "band", QUICK, k=5, labelled=False),
            Cell("tiny", "raw", None, k=5),
        ]
        keys = {other.key(data) for other in others} | {cell.key(data), cell.key(tiny("tiny", 1))}
        assert len(keys) == len(others) + 2
        assert Cell("tiny", "another name", QUICK, k=5).key(data) == cell.key(data)

    def test_one_changed_label_is_other_data(self):
        data = tiny("tiny", 0)
        labels = data.test.labels.copy()
        labels[0] += 1
        changed = Data(data.train, kf.FeatureSet(data.test.features, labels=labels))
        assert changed.fingerprint != data.fingerprint

    def test_scores_are_those_of_the_enhancer(self, tmp_path):
        data = tiny("tiny", 0)
        cells = [Cell("tiny", "band", QUICK, k=8, served_k=at) for at in (4, None)]
        cells += [Cell("tiny", "free", {}, False, k=8), Cell("tiny", "raw", None, k=8)]
        rows = run_cells(cells, tiny, Results(tmp_path / "r.jsonl"), quiet)

        def score(Z):
            return 100 * kf.metrics.mean_average_precision(Z, data.test.labels)

        def fresh():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KeptTrainingFreeWarning)
                return kf.GraphEnhancer(k=8, show_progress=False, **QUICK).fit(data.train, data.train.labels)

        free = kf.GraphEnhancer(k=8, show_progress=False).fit(data.test)
        wanted = [fresh().set_params(k=4).transform(data.test), fresh().transform(data.test)]
        wanted += [free.transform(data.test), data.test.features]
        np.testing.assert_allclose([row.map for row in rows], [score(Z) for Z in wanted], rtol=1e-6)
        graph = kf.knn_graph(data.test, 8, show_progress=False)
        assert rows[3].enr == kf.metrics.edge_noise_rate(graph, data.test.labels)

    def test_cells_that_differ_in_the_served_k_share_a_fit(self, tmp_path, monkeypatch):
        fits, fit = [], kf.GraphEnhancer.fit
        monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda self, X, y=None: (fits.append(1), fit(self, X, y))[1])
        cells = [Cell("tiny", "free", dict(pretrained=False), False, k=8, served_k=at) for at in (4, 6, None)]
        run_cells(cells, tiny, Results(tmp_path / "r.jsonl"), quiet)
        assert len(fits) == 1

    def test_kin_is_the_k_of_the_training_part(self, tmp_path):
        (row,) = run_cells([Cell("tiny", "band", QUICK, k="kin")], tiny, Results(tmp_path / "r.jsonl"), quiet)
        assert row.k == min(LARGEST_KIN_K, kf.GraphEnhancer(show_progress=False).fit(tiny("tiny", 0).train).k_)


class TestTables:
    def test_mean_and_spread_against_hand_made_numbers(self):
        found = made_up(study.variants(["omniglot"], [0, 1, 2]), lambda cell: 80.0 + cell.seed)
        table = study.variants_table(found).splitlines()
        assert table[0] == "|  | omniglot, k=12 | paper, MS-Celeb |"
        assert "| raw | 80.0 |  |" in table
        assert "| band | **81.0 ± 1.0** | 95.97 |" in table
        assert "| band, no W_qart | **81.0 ± 1.0** | 93.67 |" in table
        assert "| band, fusion mul | **81.0 ± 1.0** | 95.71 |" in table

    def test_served_difference_is_taken_seed_by_seed(self):
        def score(cell):
            return 70 + 5 * cell.seed - (0 if cell.served_k is None else 2 + cell.seed)

        table = study.served_table(made_up(study.served(["clinc150"], [0, 1]), score))
        assert "| clinc150 | 20 | 72.5 ± 3.5 | 70.0 ± 2.8 | -2.5 ± 0.7 |" in table
        assert "| clinc150 | 40 | 72.5 ± 3.5 | 72.5 ± 3.5 | +0.0 ± 0.0 |" in table

    def test_the_order_is_said_as_it_came_out(self):
        scores = {"raw": 60, "GCN (fast)": 70, "self (fast)": 80, "band (fast)": 90}
        scores |= {"GCN (paper)": 81, "self (paper)": 80, "band (paper)": 79}
        table = study.regimes_table(made_up(study.regimes(["person_like"], [0]), lambda cell: scores[cell.method]))
        assert "- person_like, recipe fast: raw < GCN < self < band: the paper's order" in table
        assert "- person_like, recipe paper: raw < band < self < GCN: not the paper's order" in table
        assert "| msmt17, the paper |  | 74.46 | 83.51 | 85.40 | 86.04 |" in table

    def test_noise_counts_the_loss_from_the_best_k(self):
        def score(cell):
            return 90 - abs(cell.k - 20) * (1 if cell.method == "GCN (fast)" else 0.5)

        table = study.noise_table(made_up(study.noise(["person_like"]), score))
        assert "k=60, ENR 0.30" in table
        assert next(line for line in table.splitlines() if line.startswith("| GCN (fast)")).endswith("| 50.0 | -40.0 |")

    def test_over_k_gives_the_best_k_and_the_default(self):
        def score(cell):
            return 99.0 if cell.k == "auto" else 60.0 if cell.method == "raw" else 90 - abs(cell.k - 40) / 10

        table = study.over_k_table(made_up(study.over_k(["omniglot"]), score))
        expected = "| omniglot | 60.0 | 90.0 (40) | 90.0 (40) | 90.0 (40) | 90.0 (40) | 99.0 (12) |"
        assert expected in table

    @pytest.mark.parametrize("section", study.SECTIONS)
    def test_an_unfinished_study_can_be_shown(self, section):
        found = made_up(study.SECTIONS[section](), lambda cell: 50.0)
        assert study.TABLES[section]([]) == NOT_YET
        for some in (found[:1], found[: len(found) // 2], found):
            lines = [line for line in study.TABLES[section](some).splitlines() if line.startswith("|")]
            assert lines and "nan" not in "".join(lines)

    @pytest.mark.parametrize("section", study.SECTIONS)
    def test_settings_are_accepted_by_the_enhancer_and_no_cell_comes_twice(self, section):
        cells = study.SECTIONS[section]()
        data = tiny("tiny", 0)
        keys = {(cell.data, cell.key(data)) for cell in cells}
        assert len(keys) == len(cells)
        for settings in {json.dumps(cell.settings) for cell in cells if cell.settings is not None}:
            kf.GraphEnhancer(k=2, show_progress=False, **json.loads(settings)).fit(np.eye(6) + 0.1)


class TestFigures:
    @pytest.mark.parametrize(
        ("cells", "panels"),
        [(study.over_k(["omniglot", "celeb_like"]), over_k_panels), (study.noise(["person_like"]), noise_panels)],
    )
    def test_every_number_is_in_the_figure(self, cells, panels):
        found = made_up(cells, lambda cell: 40 + len(cell.method) + len(str(cell.k)))
        made = panels(found)
        figure = draw(made, columns=3)
        for ax, panel in zip(figure.axes, made, strict=False):
            for line in ax.get_lines():
                if line.get_label() in LOOKS:
                    assert dict(zip(*line.get_data(), strict=True)) == panel.lines[line.get_label()]
            assert [text.get_text().split("\n")[0] for text in ax.get_xticklabels()] == [str(k) for k in panel.enr]
        assert sum(len(line) for panel in made for line in panel.lines.values()) >= len(found) - len(made)

    def test_a_started_study_can_be_drawn(self):
        found = made_up(study.over_k(["omniglot"])[:2], lambda cell: 50.0)
        assert to_svg(draw(over_k_panels(found), columns=4)).startswith("<svg")


def test_the_page_is_written_between_its_marks():
    script = Path(__file__).parents[2] / "docs" / "make" / "attention.py"
    spec = importlib.util.spec_from_file_location("attention_script", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    assert module.put(module.put(page, "x", "new"), "x", "newer") == "a\n<!-- x -->\nnewer\n<!-- /x -->\nb\n"
    page = (script.parents[1] / "attention.md").read_text()
    assert all(page.count(f"<!-- {name} -->\n") == page.count(f"<!-- /{name} -->") == 1 for name in study.SECTIONS)


def test_finished_cells_leaves_out_what_is_missing(tmp_path):
    cells = [Cell("tiny", "raw", None, k=k) for k in (3, 4, 5)]
    results = Results(tmp_path / "r.jsonl")
    run_cells(cells[:2], tiny, results, quiet)
    assert [cell.k for cell, _ in finished_cells(cells, tiny, results)] == [3, 4]
