"""The choice of k for features: read off the count, unless much less is expected of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk._core.boosted_trees import LEAF
from kinfolk.kinship.choose_k import feature_ks, neighbors_to_choose
from kinfolk.kinship.scale_choice import (
    CLEARLY_WORSE,
    SHARES,
    SHIPPED,
    Scale,
    choose_scale,
    decide,
    expected_gains,
    gain_inputs,
    last_full,
    shipped_trees,
)
from kinfolk.kinship.scale_views import INPUTS


@pytest.mark.parametrize(
    ("ks", "counts", "k"),
    [
        ([8, 12, 24], [0.5, 0.4, 0.3], 9),  # never full: where 0.93 of the most are left
        ([8, 12, 24], [0.8, 0.76, 0.79], 24),  # never full and never fewer: the largest
        ([8, 12, 24], [1.5, 1.4, 1.3], 24),  # always full: the largest
        ([6, 24], [1.18, 0.78], 12),  # half-way between the two, on a scale of factors
        ([6, 24], [0.98, 0.1], 6),
        ([8, 12, 17, 24], [1.4, 0.97, 1.0, 0.5], 17),  # the last crossing
    ],
)
def test_the_last_full_k(ks, counts, k):
    assert round(last_full(ks, np.array(counts))) == k


gains_of = st.lists(st.floats(-20, 20, width=32), min_size=8, max_size=8)


@given(st.lists(st.floats(0, 2, width=32), min_size=4, max_size=4), gains_of)
def test_what_is_chosen_is_expected_to_be_near_the_best_and_never_to_harm(counts, gains):
    ks, table = [4, 6, 8, 12], np.array(gains).reshape(2, 4)
    found = decide(ks, np.array(counts), table)
    assert found.gain >= 0
    assert found.gain >= table.max() - CLEARLY_WORSE
    assert found.share in (0.0, *SHARES)
    assert found.share > 0 or table.max() <= 0
    if found.share == 1 and found.k not in ks:
        assert found.k == round(last_full(ks, np.array(counts)))


def test_where_nothing_is_expected_to_gain_the_features_stay():
    assert decide([4, 6], np.array([1.5, 1.2]), np.full((2, 2), -1.0)) == Scale(4, 0.0, 0.0)


def test_the_inputs_are_the_views_with_each_share():
    views = np.arange(2 * INPUTS, dtype=np.float32).reshape(2, INPUTS)
    inputs = gain_inputs(views)
    assert inputs[:, -1].tolist() == [1.0, 1.0, 0.5, 0.5]
    np.testing.assert_array_equal(inputs[2:, :-1], views)
    np.testing.assert_allclose(expected_gains(shipped_trees(), views).ravel(), shipped_trees()(inputs))


def test_the_shipped_trees_are_small_and_read_what_is_seen():
    assert SHIPPED.stat().st_size < 300_000
    columns = shipped_trees().tensors["column"]
    assert columns[columns != LEAF].max() <= INPUTS


def test_classes_of_ten_sizes_do_not_get_the_k_of_the_largest(net):
    rng = np.random.default_rng(0)
    sizes = [120] * 4 + [6] * 70
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(sizes), 48))[y] + 0.9 * rng.standard_normal((len(y), 48))
    g = kf.knn_graph(X, k=neighbors_to_choose(len(X)))
    assert choose_scale(net, g, feature_ks(g)).k <= 30
