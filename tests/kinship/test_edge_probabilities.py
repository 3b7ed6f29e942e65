"""Probabilities of edges, in blocks and as a graph."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.kinship import edge_probabilities, edge_tests, kin_graph
from kinfolk.kinship.edge_probabilities import probability_blocks, scales_around, window_of


@pytest.mark.parametrize("edges", [1, 100, 16 * 7 + 3])
def test_blocks_do_not_change_the_result(monkeypatch, net, clouds, edges):
    X = clouds(5, 12)
    g = kf.knn_graph(X, k=20)
    queries = kf.knn_graph(X, k=20, queries=clouds(2, 9, seed=1))
    for asking, rows in ((None, None), (None, np.array([7, 3, 59, 3])), (queries, None)):
        monkeypatch.setattr(edge_probabilities, "BLOCK_EDGES", 1 << 18)
        (whole,) = probability_blocks(net, g, [8, 3], rows, asking)
        monkeypatch.setattr(edge_probabilities, "BLOCK_EDGES", edges)
        blocks = list(probability_blocks(net, g, [8, 3], rows, asking))
        assert len(blocks) == -(-len(whole.rows) // max(1, edges // 22))
        np.testing.assert_array_equal(np.concatenate([b.rows for b in blocks]), whole.rows)
        for a in (0, 1):
            np.testing.assert_allclose(np.concatenate([b.log_p[a] for b in blocks]), whole.log_p[a], atol=1e-5)
            np.testing.assert_array_equal(np.concatenate([b.reciprocal[a] for b in blocks]), whole.reciprocal[a])


def test_each_k_is_asked_in_its_own_window(net, clouds):
    g = kf.knn_graph(clouds(6, 15), k=30)
    (block,) = probability_blocks(net, g, [3, 15])
    for k, log_p, reciprocal in zip((3, 15), block.log_p, block.reciprocal, strict=True):
        tests = edge_tests(g, k)
        np.testing.assert_allclose(log_p, net.log_probability(tests.values), atol=1e-6)
        np.testing.assert_array_equal(reciprocal, tests.reciprocal)


def test_the_graph_is_the_mean_of_both_directions_and_scales(net):
    g = kf.knn_graph(kf.datasets.celeb_like(6, seed=3), k=60)
    k, n = 20, len(g)
    one_way = np.zeros((n, n))
    for scale in scales_around(k):
        log_p = net.log_probability(edge_tests(g, scale).values)
        for i, row in enumerate(log_p):
            one_way[i, g.indices[i, : len(row)]] += np.exp(row) / 2
    one_way[one_way < 0.02] = 0
    np.testing.assert_allclose(kin_graph(net, g, k).toarray(), (one_way + one_way.T) / 2, atol=0.011)


def test_the_window_holds_twice_the_largest_scale():
    for k in range(1, 200):
        assert window_of(k) == 2 * max(scales_around(k))
