"""Average linkage along a graph: equal to scipy's where all are neighbours; constraints and blocks are kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

import kinfolk as kf
from kinfolk.cluster._internal import agglomerate as module
from kinfolk.cluster._internal.agglomerate import agglomerate, tree_through
from kinfolk.cluster._internal.constraints import read_constraints
from kinfolk.cluster._internal.hierarchy import cut
from kinfolk.cluster._internal.union_find import connected


def unit_set(seed, n, d=4):
    X = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def neighbors(X, k=15):
    return kf.knn_graph(X, min(k, len(X) - 1), show_progress=False).indices


@pytest.mark.parametrize("seed", range(20))
def test_with_all_neighbours_it_is_average_linkage(seed, monkeypatch):
    monkeypatch.setattr(module, "NEIGHBORS", 60)
    n = int(np.random.default_rng(seed).integers(2, 50))
    X = unit_set(seed, n, 5)
    merges = agglomerate(X, neighbors(X, n))
    # half the squared distance of rows of length one is 1 - <a, b>, and both means are over all pairs
    heights = linkage(pdist(X, "sqeuclidean"), "average")[:, 2]
    np.testing.assert_allclose(merges.similarity, 1 - np.sort(heights) / 2, atol=1e-5)


def test_similarities_fall_and_one_cluster_is_left():
    X = unit_set(0, 900)
    merges = agglomerate(X, neighbors(X))
    assert len(merges.left) == len(X) - 1
    assert (np.diff(merges.similarity) <= 0).all()
    assert len(np.unique(cut(merges, len(X), len(merges.left)))) == 1


def test_a_graph_in_pieces_is_searched_on():
    X = np.concatenate([unit_set(seed, 40, 8) * 0.1 + np.eye(8, dtype=np.float32)[seed] for seed in range(3)])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    merges = agglomerate(X, neighbors(X, 3))
    assert len(merges.left) == len(X) - 1
    found = cut(merges, len(X), len(X) - 3)
    assert kf.metrics.ari(np.repeat(np.arange(3), 40), found) == 1


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 60), st.integers(0, 12), st.integers(0, 12))
def test_constraints_hold_after_every_merge(seed, n, musts, cannots):
    rng = np.random.default_rng(seed)
    X = unit_set(seed, n, 3)
    must, cannot = rng.integers(0, n, (musts, 2)), rng.integers(0, n, (cannots, 2))
    together = read_constraints(n, must).together
    cannot = cannot[together[cannot[:, 0]] != together[cannot[:, 1]]]
    known = read_constraints(n, must, cannot)
    merges = agglomerate(X, neighbors(X), together=known.together, apart=known.apart)
    for count in range(len(merges.left) + 1):
        left, right = np.r_[merges.left[:count], must[:, 0]], np.r_[merges.right[:count], must[:, 1]]
        found = connected(n, left, right)
        assert (found[cannot[:, 0]] != found[cannot[:, 1]]).all()
    # what is left at the end may not be merged: each two clusters have a pair that is kept apart between them
    ends = {tuple(sorted(pair)) for pair in found[cannot].tolist()}
    left = np.unique(found).tolist()
    assert all((a, b) in ends for i, a in enumerate(left) for b in left[i + 1 :])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 400), st.integers(1, 30))
def test_a_tree_through_given_clusters(seed, n, clusters):
    X = unit_set(seed, n, 6)
    labels = np.unique(np.random.default_rng(seed).integers(0, clusters, n), return_inverse=True)[1]
    inside, between = tree_through(X, neighbors(X), labels)
    built = connected(n, inside.left, inside.right)
    assert kf.metrics.ari(labels, built) == 1
    assert len(inside.left) + len(between.left) == n - 1
    assert len(np.unique(connected(n, np.r_[inside.left, between.left], np.r_[inside.right, between.right]))) == 1


def test_a_tree_through_clusters_keeps_constraints():
    X = unit_set(0, 50)
    known = read_constraints(50, [(0, 1), (1, 2)], [(0, 3), (10, 11)])
    labels = np.where(np.arange(50) < 3, 0, 1 + np.arange(50) % 2)
    inside, between = tree_through(X, neighbors(X), labels, together=known.together, apart=known.apart)
    left, right = np.r_[inside.left, between.left, 0, 1], np.r_[inside.right, between.right, 1, 2]
    found = connected(50, left, right)
    assert found[0] == found[2]
    assert found[0] != found[3]
    assert found[10] != found[11]


def test_rows_that_are_all_the_same():
    X = np.ones((40, 3), dtype=np.float32) / np.sqrt(np.float32(3))
    merges = agglomerate(X, neighbors(X))
    assert len(merges.left) == 39
    np.testing.assert_allclose(merges.similarity, 1, atol=1e-5)
