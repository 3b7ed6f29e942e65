"""Cuts of a hierarchy, and modularity against its definition."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal.hierarchy import (
    Merges,
    bits_of_merges,
    count_above,
    cut,
    modularity_of_merges,
    most_modular,
    shortest_walk,
)
from kinfolk.cluster._internal.threshold_merges import merges_at_thresholds


def test_modularity_after_each_merge_is_that_of_the_definition(reference):
    g = kf.knn_graph(reference.rows(40, 4, 1), 5)
    merges = merges_at_thresholds(g.indices, g.similarities, np.linspace(1, -0.2, 30, dtype=np.float32))
    weights = kf.sim_m(g) ** 3
    fast = modularity_of_merges(merges, g.indices, weights)
    edges = [(i, int(j)) for i in range(40) for j in g.indices[i]]
    for count in range(len(merges.left) + 1):
        labels = np.unique(cut(merges, 40, count), return_inverse=True)[1]
        assert fast[count] == pytest.approx(reference.modularity(labels, edges, weights.ravel().tolist()), abs=1e-6)


def test_a_cut_keeps_merges_of_equal_similarity_together():
    merges = Merges(np.array([0, 2, 0]), np.array([1, 3, 2]), np.array([0.9, 0.5, 0.5], dtype=np.float32))
    assert [count_above(merges, t) for t in (1.0, 0.9, 0.5, 0.1)] == [0, 1, 3, 3]
    indices, tests = np.array([[1], [0], [3], [2]], dtype=np.int32), np.ones((4, 1), dtype=np.float32)
    assert modularity_of_merges(merges, indices, tests).argmax() == 2
    assert most_modular(merges, indices, tests) in (1, 3)
    assert most_modular(Merges(*(column[:0] for column in merges)), indices, tests) == 0


def test_edges_without_weight_have_no_modularity():
    merges = Merges(np.array([0]), np.array([1]), np.array([0.9], dtype=np.float32))
    np.testing.assert_array_equal(modularity_of_merges(merges, np.array([[1], [0]]), np.zeros((2, 1))), [0, 0])


def test_the_bits_after_each_merge_are_those_of_the_map_equation(reference):
    g = kf.knn_graph(reference.rows(40, 4, 1), 5)
    merges = merges_at_thresholds(g.indices, g.similarities, np.linspace(1, -0.2, 30, dtype=np.float32))
    weights = kf.sim_m(g)
    fast = bits_of_merges(merges, g.indices, weights)
    walk = np.zeros((40, 40))
    for i in range(40):
        for j, weight in zip(g.indices[i], weights[i], strict=True):
            walk[i, j] += weight
            walk[j, i] += weight
    walk /= walk.sum()
    bits = lambda x: float(x * np.log2(x)) if x > 1e-12 else 0.0  # noqa: E731
    for count in range(len(merges.left) + 1):
        labels = cut(merges, 40, count)
        inside = [labels == c for c in np.unique(labels)]
        leaves = [walk[rows][:, ~rows].sum() for rows in inside]
        visits = [walk[rows].sum() for rows in inside]
        expected = bits(sum(leaves)) + sum(bits(q + p) - 2 * bits(q) for q, p in zip(leaves, visits, strict=True))
        assert fast[count] == pytest.approx(expected, abs=1e-5)
    assert 0 <= shortest_walk(merges, g.indices, weights) <= len(merges.left)


def test_the_shortest_walk_keeps_merges_of_equal_similarity_together():
    merges = Merges(np.array([0, 2, 0]), np.array([1, 3, 2]), np.array([0.9, 0.5, 0.5], dtype=np.float32))
    indices, weights = np.array([[1], [0], [3], [2]], dtype=np.int32), np.ones((4, 1), dtype=np.float32)
    assert bits_of_merges(merges, indices, weights).argmin() == 2
    assert shortest_walk(merges, indices, weights) in (1, 3)
    assert shortest_walk(Merges(*(column[:0] for column in merges)), indices, weights) == 0
    np.testing.assert_array_equal(bits_of_merges(merges, indices, np.zeros((4, 1))), np.zeros(4))
