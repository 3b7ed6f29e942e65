"""The tables of the attention study, from numbers nobody measured."""

import json

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.experiments.markdown import NOT_YET
from research import attention_study as study


def test_mean_and_spread_against_hand_made_numbers(made_up):
    found = made_up(study.variants(["omniglot"], [0, 1, 2]), lambda cell: 80.0 + cell.seed)
    table = study.variants_table(found).splitlines()
    assert table[0] == "|  | omniglot, k=12 | paper, MS-Celeb |"
    assert "| raw | 80.0 |  |" in table
    assert "| band | **81.0 ± 1.0** | 95.97 |" in table
    assert "| band, no W_qart | **81.0 ± 1.0** | 93.67 |" in table
    assert "| band, fusion mul | **81.0 ± 1.0** | 95.71 |" in table


def test_served_difference_is_taken_seed_by_seed(made_up):
    def score(cell):
        return 70 + 5 * cell.seed - (0 if cell.served_k is None else 2 + cell.seed)

    table = study.served_table(made_up(study.served(["clinc150"], [0, 1]), score))
    assert "| clinc150 | 20 | 72.5 ± 3.5 | 70.0 ± 2.8 | -2.5 ± 0.7 |" in table
    assert "| clinc150 | 40 | 72.5 ± 3.5 | 72.5 ± 3.5 | +0.0 ± 0.0 |" in table


def test_the_order_is_said_as_it_came_out(made_up):
    scores = {"raw": 60, "GCN (fast)": 70, "self (fast)": 80, "band (fast)": 90}
    scores |= {"GCN (paper)": 81, "self (paper)": 80, "band (paper)": 79}
    table = study.regimes_table(made_up(study.regimes(["person_like"], [0]), lambda cell: scores[cell.method]))
    assert "- person_like, recipe fast: raw < GCN < self < band: the paper's order" in table
    assert "- person_like, recipe paper: raw < band < self < GCN: not the paper's order" in table
    assert "| msmt17, the paper |  | 74.46 | 83.51 | 85.40 | 86.04 |" in table


def test_noise_counts_the_loss_from_the_best_k(made_up):
    def score(cell):
        return 90 - abs(cell.k - 20) * (1 if cell.method == "GCN (fast)" else 0.5)

    table = study.noise_table(made_up(study.noise(["person_like"]), score))
    assert "k=60, ENR 0.30" in table
    assert next(line for line in table.splitlines() if line.startswith("| GCN (fast)")).endswith("| 50.0 | -40.0 |")


def test_over_k_gives_the_best_k_and_the_default(made_up):
    def score(cell):
        return 99.0 if cell.k == "auto" else 60.0 if cell.method == "raw" else 90 - abs(cell.k - 40) / 10

    table = study.over_k_table(made_up(study.over_k(["omniglot"]), score))
    expected = "| omniglot | 60.0 | 90.0 (40) | 90.0 (40) | 90.0 (40) | 90.0 (40) | 99.0 (12) |"
    assert expected in table


@pytest.mark.parametrize("section", study.SECTIONS)
def test_an_unfinished_study_can_be_shown(section, made_up):
    found = made_up(study.SECTIONS[section](), lambda cell: 50.0)
    assert study.TABLES[section]([]) == NOT_YET
    for some in (found[:1], found[: len(found) // 2], found):
        lines = [line for line in study.TABLES[section](some).splitlines() if line.startswith("|")]
        assert lines and "nan" not in "".join(lines)


@pytest.mark.parametrize("section", study.SECTIONS)
def test_settings_are_accepted_by_the_enhancer_and_no_cell_comes_twice(section, tiny):
    cells = study.SECTIONS[section]()
    keys = {(cell.data, cell.key(tiny)) for cell in cells}
    assert len(keys) == len(cells)
    for settings in {json.dumps(cell.settings) for cell in cells if cell.settings is not None}:
        kf.GraphEnhancer(k=2, show_progress=False, **json.loads(settings)).fit(np.eye(6) + 0.1)
