"""The size limit and the guard."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster import GCut
from kinfolk.cluster._internal.size_limit import edges_by_score, join_with_guard, join_with_limit, split_large


@given(st.integers(1, 12), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_no_cluster_passes_the_limit_and_none_is_joined_anew(limit, seed):
    g = kf.knn_graph(np.random.default_rng(seed).standard_normal((40, 3)), 5)
    before = GCut(5, 0.7).fit_predict(g)
    after = split_large(before, g, limit)
    assert np.bincount(after).max() <= limit
    for label in np.unique(after):
        assert len(np.unique(before[after == label])) == 1
    small = np.bincount(before)[before] <= limit
    for label in np.unique(before[small]):
        assert len(np.unique(after[before == label])) == 1


@pytest.mark.parametrize(("between", "clusters"), [([(2, 3)], 2), ([(0, 3), (1, 4), (2, 5)], 1)])
def test_two_groups_of_three_are_joined_by_three_edges_but_not_by_one(between, clusters):
    edges = [(0, 1), (1, 2), (3, 4), (4, 5), *between]
    sources, targets = (np.array(column, dtype=np.int32) for column in zip(*edges, strict=True))
    assert len(np.unique(join_with_guard(6, sources, targets, guard=1.0, from_size=3))) == clusters
    assert len(np.unique(join_with_guard(6, sources, targets, guard=1.0, from_size=3, max_size=5))) == 2


def test_edges_are_joined_in_their_order():
    g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.3], [1, 0.35]], 2)
    sources, targets = edges_by_score(g, g.similarities, np.ones(g.indices.shape, dtype=bool))
    scores = [float(g.similarities[i][g.indices[i] == j][0]) for i, j in zip(sources, targets, strict=True)]
    assert scores == sorted(scores, reverse=True)
    np.testing.assert_array_equal(join_with_limit(4, sources, targets, 2), [0, 0, 2, 2])
    assert len(np.unique(join_with_limit(4, sources, targets))) == 1
