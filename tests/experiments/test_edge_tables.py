"""Tables 1 and 5: one test and many over the edges of a graph, against the public metrics."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.experiments import feature_methods
from kinfolk.experiments.edge_tables import STUDIES, EdgeScoring, calibrated, measure_edges
from kinfolk.experiments.feature_methods import ORIGINAL, FeatureCache
from kinfolk.experiments.generated_sets import PERSONS
from kinfolk.experiments.resume import Data
from kinfolk.experiments.task_cells import TaskCell


def test_a_cell_is_both_similarities_scored(tiny):
    row = measure_edges(FeatureCache(), TaskCell("tiny", ORIGINAL, EdgeScoring(10)), tiny, "")
    g = kf.knn_graph(tiny.test, 10)
    one, many = (100 * kf.metrics.pair_auc(g, sim(g), tiny.test.labels) for sim in (kf.sim_s, kf.sim_m))
    assert (row.scores["auc_s"], row.scores["auc_m"]) == (one, many)
    assert row.scores["gain"] == many - one
    assert len(row.draws["gain"]) == 200


def test_where_all_edges_are_true_there_is_no_auc(tiny):
    clean = Data(tiny.train, kf.FeatureSet(np.repeat(np.eye(3), 9, axis=0), np.repeat(np.arange(3), 9)))
    cell = TaskCell("clean", ORIGINAL, EdgeScoring(5))
    assert measure_edges(FeatureCache(), cell, clean, "").scores == {"enr": 0.0}


def test_one_search_serves_all_k(tiny, monkeypatch):
    searched = []
    monkeypatch.setattr(feature_methods, "knn_graph", lambda X, k, **more: (searched.append(k), kf.knn_graph(X, k))[1])
    cache = FeatureCache()
    for cell in STUDIES["table5"].cells(["tiny"], [0], None):
        row = measure_edges(cache, cell, tiny, "")
        g = kf.knn_graph(tiny.test, cell.task.k)
        assert row.scores["enr"] == kf.metrics.edge_noise_rate(g, tiny.test.labels)
    assert searched == [40]


def test_given_sets_have_one_seed_and_are_shown_beside_the_first_set_of_the_table(made_up):
    assert {cell.seed for cell in STUDIES["table1"].cells(["mine"], [0, 1], None)} == {0}
    (panel,) = STUDIES["table1"].charts(made_up(STUDIES["table1"]))[0].panels
    ours, theirs = panel.lines
    assert theirs.label == "the paper, ms-celeb" and ours.x == theirs.x and ours.spread is not None


def test_a_quick_set_is_small_and_tested_whole():
    data = calibrated(PERSONS, 0, "quick")
    assert data.train is data.test and len(set(data.test.labels)) == 40


@pytest.mark.parametrize("peak", [0, 2])
def test_claims_need_three_k(made_up, peak):
    found = [(cell, row) for cell, row in made_up(STUDIES["table1"]) if cell.task.k in (5, 10, 20)[: peak + 1]]
    assert len(STUDIES["table1"].claims(found)) == (3 if peak == 2 else 0)
