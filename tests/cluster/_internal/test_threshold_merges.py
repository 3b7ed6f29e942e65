"""Merges at falling thresholds against connected components at each of them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.cluster._internal.hierarchy import cut
from kinfolk.cluster._internal.threshold_merges import FOREST_NEIGHBORS, merges_at_thresholds
from kinfolk.cluster._internal.union_find import connected


@given(st.integers(2, 40), st.integers(1, 12), st.integers(1, 8), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_merges_up_to_a_threshold_give_the_components_of_the_edges_above_it(n, k, values, points, seed):
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, n, (n, k), dtype=np.int32)
    scores = -np.sort(-rng.integers(0, values, (n, k)).astype(np.float32), axis=1)  # few values: many are equal
    thresholds = -np.sort(-rng.uniform(-1, values, points).round(rng.integers(0, 2))).astype(np.float32)
    merges = merges_at_thresholds(indices, scores, thresholds)
    assert np.all(np.diff(merges.similarity) <= 0)
    for threshold in thresholds:
        left, a = np.nonzero(scores >= threshold)
        expected = connected(n, left, indices[left, a])
        count = np.count_nonzero(merges.similarity >= threshold)
        np.testing.assert_array_equal(cut(merges, n, count), expected)
        assert count == n - len(np.unique(expected))  # every merge joins two clusters


def test_edges_beyond_the_nearest_join_what_those_leave_apart():
    n, k = 60, FOREST_NEIGHBORS + 3
    own, far = np.arange(n) // 10 * 10, (np.arange(n) + 10) % n
    near = own[:, None] + (np.arange(n)[:, None] + np.arange(1, FOREST_NEIGHBORS + 1)) % 10
    indices = np.hstack([near, np.stack([far] * 3, axis=1)]).astype(np.int32)
    scores = np.tile(np.linspace(1, 0.1, k, dtype=np.float32), (n, 1))
    merges = merges_at_thresholds(indices, scores, np.array([0.5, 0.05], np.float32))
    assert np.count_nonzero(merges.similarity == np.float32(0.5)) == n - 6
    assert len(merges.left) == n - 1
