"""Cells of the attention study: every score against the enhancer itself."""

import warnings

import numpy as np
import pytest
from research.attention_cells import Cell, attention_store, run_cells

import kinfolk as kf
from kinfolk.enhance import KeptTrainingFreeWarning
from kinfolk.experiments.resume import LARGEST_KIN_K, Data

QUICK = dict(model="subgraph", attention="band", steps=2)


@pytest.fixture
def load(tiny):
    return lambda name, seed: tiny


def quiet(text):
    pass


def test_a_second_run_measures_nothing(tmp_path, monkeypatch, load, tiny):
    cells = [Cell("tiny", "raw", None, k=5), Cell("tiny", "band", QUICK, k=5), Cell("tiny", "free", {}, False)]
    first = run_cells(cells, load, attention_store(tmp_path / "r.jsonl"), quiet)
    monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda *a: pytest.fail("measured again"))
    lines = []
    second = run_cells(cells, load, attention_store(tmp_path / "r.jsonl"), lines.append)
    assert second == first
    assert len(lines) == 3 and all("before" in line for line in lines)


def test_the_key_follows_settings_seed_k_and_data_but_not_the_name(tiny):
    cell, data = Cell("tiny", "band", QUICK, k=5), tiny
    others = [
        Cell("tiny", "band", {**QUICK, "steps": 3}, k=5),
        Cell("tiny", "band", QUICK, k=6),
        Cell("tiny", "band", QUICK, k=5, seed=1),
        Cell("tiny", "band", QUICK, k=5, served_k=6),
        Cell("tiny", "band", QUICK, k=5, labelled=False),
        Cell("tiny", "raw", None, k=5),
    ]
    keys = {other.key(data) for other in others} | {cell.key(data), cell.key(Data(tiny.test, tiny.train))}
    assert len(keys) == len(others) + 2
    assert Cell("tiny", "another name", QUICK, k=5).key(data) == cell.key(data)


def test_scores_are_those_of_the_enhancer(tmp_path, load, tiny):
    data = tiny
    cells = [Cell("tiny", "band", QUICK, k=8, served_k=at) for at in (4, None)]
    cells += [Cell("tiny", "free", {}, False, k=8), Cell("tiny", "raw", None, k=8)]
    rows = run_cells(cells, load, attention_store(tmp_path / "r.jsonl"), quiet)

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


def test_cells_that_differ_in_the_served_k_share_a_fit(tmp_path, monkeypatch, load, tiny):
    fits, fit = [], kf.GraphEnhancer.fit
    monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda self, X, y=None: (fits.append(1), fit(self, X, y))[1])
    cells = [Cell("tiny", "free", dict(pretrained=False), False, k=8, served_k=at) for at in (4, 6, None)]
    run_cells(cells, load, attention_store(tmp_path / "r.jsonl"), quiet)
    assert len(fits) == 1


def test_kin_is_the_k_of_the_training_part(tmp_path, load, tiny):
    (row,) = run_cells([Cell("tiny", "band", QUICK, k="kin")], load, attention_store(tmp_path / "r.jsonl"), quiet)
    assert row.k == min(LARGEST_KIN_K, kf.GraphEnhancer(show_progress=False).fit(tiny.train).k_)
