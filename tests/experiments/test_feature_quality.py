"""The quality of features: every score against the public metrics."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.experiments.edge_tables import EdgeScoring
from kinfolk.experiments.feature_methods import BAND, LABEL_FREE, ORIGINAL, PAPER_METHODS, FeatureCache
from kinfolk.experiments.feature_quality import FPRS, Quality, at_k, measure_quality
from kinfolk.experiments.resume import Data
from kinfolk.experiments.task_cells import TaskCell


def measured(method, data):
    return measure_quality(FeatureCache(), TaskCell("tiny", method, Quality(10)), data, "")


def test_a_cell_is_the_metrics_on_the_enhanced_features(tiny):
    row, test = measured(LABEL_FREE, tiny), tiny.test
    Z = kf.GraphEnhancer(show_progress=False).fit(test).transform(test)
    assert row.scores["map"] == pytest.approx(100 * kf.metrics.mean_average_precision(Z, test.labels))
    g = kf.knn_graph(test, 10)
    cosines = np.array([[Z[i] @ Z[j] for j in g.indices[i]] for i in range(len(Z))])
    assert row.scores["auc"] == pytest.approx(100 * kf.metrics.pair_auc(g, cosines, test.labels), abs=1e-3)
    assert row.scores["enr"] == kf.metrics.edge_noise_rate(g, test.labels)
    for fpr, tpr in zip(FPRS[::20], row.curves["tpr"][::20], strict=True):
        let_through = np.quantile(cosines[test.labels[g.indices] != test.labels[:, None]], 1 - fpr, method="higher")
        kept = (cosines[test.labels[g.indices] == test.labels[:, None]] > let_through).mean()
        assert tpr == pytest.approx(kept, abs=0.05)
    assert len(row.draws["map"]) == 500 and np.mean(row.draws["map"]) == pytest.approx(row.scores["map"], abs=1)


def test_two_methods_share_their_draws(tiny):
    one, two = (np.array(measured(method, tiny).draws["map"]) for method in (ORIGINAL, LABEL_FREE))
    assert np.corrcoef(one, two)[0, 1] > 0.3  # independent draws have none
    assert (two - one).std() < np.hypot(one.std(), two.std())


def test_where_all_edges_are_true_there_is_no_auc(tiny):
    clean = Data(tiny.train, kf.FeatureSet(np.repeat(np.eye(3), 9, axis=0), np.repeat(np.arange(3), 9)))
    row = measure_quality(FeatureCache(), TaskCell("clean", ORIGINAL, Quality(5)), clean, "")
    assert row.scores == {"map": 100.0, "enr": 0.0} and not row.curves


def test_keys_follow_k_part_and_task(tiny):
    cells = [TaskCell("tiny", at_k(PAPER_METHODS[0], k), Quality(k, part)) for k in (5, 10) for part in (None, 1, 9)]
    cells += [TaskCell("tiny", ORIGINAL, task) for task in (Quality(5), EdgeScoring(5), EdgeScoring(10))]
    assert len({cell.key(tiny) for cell in cells}) == len(cells)
    assert at_k(BAND, 10) is BAND and at_k(ORIGINAL, 10) is ORIGINAL
