"""The kin count over k."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.kinship import edge_tests, kin_counts
from kinfolk.kinship.kin_counts import kin_counts as counts_of


def test_kin_are_counted_in_units_of_k(net, clouds, slow_log_probability):
    g = kf.knn_graph(clouds(6, 15), k=30)
    for k, found in zip((3, 8, 15), counts_of(net, g, [3, 8, 15]), strict=True):
        tests = edge_tests(g, k).values.reshape(-1, 13)
        p = np.exp([slow_log_probability(row) for row in tests])
        assert found == pytest.approx(p.sum() / (len(g) * k), rel=1e-4)
        assert 0 <= found <= 2


def test_a_sample_of_the_rows_is_enough_to_count(monkeypatch, net, clouds):
    g = kf.knn_graph(clouds(30, 20), k=40)
    everybody = counts_of(net, g, [10, 20])
    monkeypatch.setattr(kin_counts, "SAMPLE_ROWS", 200)
    np.testing.assert_allclose(counts_of(net, g, [10, 20]), everybody, rtol=0.1)
    np.testing.assert_array_equal(counts_of(net, g, [10], seed=3), counts_of(net, g, [10], seed=3))
    assert counts_of(net, g, [10], seed=3) != counts_of(net, g, [10], seed=4)
