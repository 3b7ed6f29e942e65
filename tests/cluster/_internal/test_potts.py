"""The Potts model against its definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from kinfolk.cluster._internal.potts import group_by_potts, joined, local_moves, potts_nodes, potts_quality


def quality_of_all_pairs(p, labels, resolution=0.5) -> float:
    """Q, pair by pair; p (n, n) is 0 where there is no edge."""
    pairs = itertools.combinations(range(len(labels)), 2)
    return sum(float(p[i, j]) - resolution for i, j in pairs if labels[i] == labels[j])


def some_pairs(n: int, seed: int, share: float = 0.7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = np.where(rng.random((n, n)) < share, rng.random((n, n)), 0).astype(np.float32)
    return np.triu(p, 1) + np.triu(p, 1).T


def every_partition(n: int):
    """Yield all partitions of n rows, each once: a row has a known label or the next one."""
    partitions = [[0]]
    for _ in range(n - 1):
        partitions = [[*labels, c] for labels in partitions for c in range(max(labels) + 2)]
    return map(np.array, partitions)


def keeps(labels, together) -> bool:
    pairs = itertools.combinations(range(len(labels)), 2)
    return all(labels[i] == labels[j] for i, j in pairs if together[i] == together[j])


def some_together(n: int, seed: int) -> np.ndarray:
    return np.unique(np.random.default_rng(seed).integers(0, n, n), return_inverse=True)[1]


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000), st.floats(0.1, 1), st.floats(0.05, 0.95), st.booleans())
def test_no_two_clusters_would_rather_be_one(n, seed, share, resolution, linked):
    p, together = some_pairs(n, seed, share), some_together(n, seed) if linked else None
    labels = group_by_potts(csr_array(p), resolution, seed, together=together)
    best = quality_of_all_pairs(p, labels, resolution)
    assert potts_quality(csr_array(p), labels, resolution) == pytest.approx(best, abs=1e-4)
    at_first = np.arange(n) if together is None else together
    assert keeps(labels, at_first)
    assert best >= quality_of_all_pairs(p, at_first, resolution) - 1e-4
    for a, b in itertools.combinations(np.unique(labels), 2):
        assert quality_of_all_pairs(p, np.where(labels == a, b, labels), resolution) <= best + 1e-4


@pytest.mark.parametrize("linked", [False, True])
def test_few_rows_are_mostly_grouped_as_well_as_can_be(linked):
    shares = []
    for seed in range(60):
        n = 4 + seed % 4
        p, together = some_pairs(n, seed), some_together(n, seed) if linked else np.arange(n)
        best = max(quality_of_all_pairs(p, labels) for labels in every_partition(n) if keeps(labels, together))
        found = group_by_potts(csr_array(p), seed=seed, together=together)
        assert keeps(found, together)
        alone = quality_of_all_pairs(p, together)  # what nothing but the constraints makes
        gain = quality_of_all_pairs(p, found) - alone
        assert -1e-4 <= gain <= best - alone + 1e-4
        shares.append(1.0 if best - alone < 1e-4 else gain / (best - alone))
    # local moves have no promise for a single graph: of all, some stop below the optimum
    assert np.mean(shares) > 0.95
    assert np.mean(np.array(shares) > 0.9999) > 0.75


def test_a_pair_without_an_edge_is_of_strangers():
    p = np.array([[0, 0.8, 0.8], [0.8, 0, 0], [0.8, 0, 0]], dtype=np.float32)
    assert len(set(group_by_potts(csr_array(p)).tolist())) == 2
    p[1, 2] = p[2, 1] = 0.3
    assert len(set(group_by_potts(csr_array(p)).tolist())) == 1


def test_a_row_leaves_a_cluster_of_strangers():
    p = np.full((4, 4), 0.9, dtype=np.float32)
    p[3, :] = p[:, 3] = 0.1
    np.fill_diagonal(p, 0)
    assert group_by_potts(csr_array(p)).tolist() == [0, 0, 0, 1]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10_000), st.floats(0.1, 1), st.floats(0.05, 0.95))
def test_no_row_would_rather_be_elsewhere_or_alone(n, seed, share, resolution):
    rng, p = np.random.default_rng(seed), some_pairs(n, seed, share)
    start = rng.integers(0, n, n)
    labels = local_moves(potts_nodes(csr_array(p)), start, resolution, rng.permutation(n))
    best = quality_of_all_pairs(p, labels, resolution)
    assert best >= quality_of_all_pairs(p, start, resolution) - 1e-4
    for i, c in itertools.product(range(n), [*np.unique(labels), n]):
        moved = labels.copy()
        moved[i] = c
        assert quality_of_all_pairs(p, moved, resolution) <= best + 1e-4


def test_a_label_that_was_left_is_used_again():
    # no label is free at first; row 0 joins row 1, then row 2 joins both, and row 0 would rather be alone
    p = np.array([[0, 0.6, 0.2], [0.6, 0, 0.9], [0.2, 0.9, 0]], dtype=np.float32)
    labels = local_moves(potts_nodes(csr_array(p)), np.arange(3), 0.5, np.array([0, 2, 1]))
    assert labels[0] in (0, 2)
    assert labels[1:].tolist() == [1, 1]


def test_the_graph_given_is_left_as_it_was():
    p = some_pairs(8, 0)
    graph = csr_array(p)
    group_by_potts(graph, together=some_together(8, 0))
    group_by_potts(graph)
    np.testing.assert_array_equal(graph.toarray(), p)


def test_joined_nodes_are_the_sums_of_their_rows():
    p, together, labels = some_pairs(9, 1), np.array([0, 1, 2, 0, 1, 2, 3, 4, 5]), np.array([0, 1, 2, 0, 1, 3])
    nodes = potts_nodes(csr_array(p), together)
    for found, member in ((nodes, np.eye(6)[together]), (joined(nodes, labels), np.eye(4)[labels[together]])):
        n = member.shape[1]
        expected = member.T @ p @ member
        np.fill_diagonal(expected, 0)
        dense = csr_array((found.weights, found.targets, found.starts), shape=(n, n)).toarray()
        np.testing.assert_allclose(dense, expected, atol=1e-5)
        np.testing.assert_array_equal(found.size, member.sum(axis=0))


def test_a_graph_without_edges_and_one_of_equals():
    assert len(set(group_by_potts(csr_array((5, 5), dtype=np.float32)).tolist())) == 5
    assert len(set(group_by_potts(csr_array(1 - np.eye(5, dtype=np.float32))).tolist())) == 1
