"""Scores at many thresholds against scores from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster._internal.hierarchy import Merges, cut
from kinfolk.cluster._internal.sweep import HASHED_FROM, balance, score_merges


@given(st.integers(2, 60), st.integers(1, 5 * HASHED_FROM), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_scores_of_any_merges_equal_scores_from_scratch(n, classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, classes, n)
    labels[0] = 0
    tree = rng.permutation(n)
    pairs = np.array([(tree[i], tree[rng.integers(i)]) for i in range(1, n)], dtype=np.int32)
    pairs = pairs[rng.permutation(n - 1)[: rng.integers(1, n)]]
    merges = Merges(pairs[:, 0], pairs[:, 1], np.linspace(1, 0, len(pairs), dtype=np.float32))
    sweep = score_merges(merges, merges.similarity, labels, n)
    for count in range(1, len(pairs) + 1):
        found = cut(merges, n, count)
        np.testing.assert_allclose(sweep.pairwise[count - 1], kf.metrics.pairwise(labels, found), atol=1e-12)
        np.testing.assert_allclose(sweep.bcubed[count - 1], kf.metrics.bcubed(labels, found), atol=1e-12)


def test_the_balance_is_the_mean_of_both_f_scores():
    labels, found = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 2])
    assert balance(labels, found) == (kf.metrics.pairwise(labels, found).f + kf.metrics.bcubed(labels, found).f) / 2


def test_labels_without_a_known_class_cannot_be_scored():
    merges = Merges(np.array([0]), np.array([1]), np.array([0.9], dtype=np.float32))
    with pytest.raises(kf.InputError, match="no known class"):
        score_merges(merges, [0.5], [-1, -1], 2)
