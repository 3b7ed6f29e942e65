"""The check of k: kept, unless much less is expected of it than of another."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinfolk._core.boosted_trees import LEAF
from kinfolk.kinship.scale_choice import (
    MARGIN,
    SHARES,
    SHIPPED,
    Scale,
    checked,
    expected_gains,
    gain_inputs,
    shipped_trees,
)
from kinfolk.kinship.scale_views import INPUTS

KS = [4, 6, 8, 12]
gains_of = st.lists(st.floats(-20, 20, width=32), min_size=8, max_size=8)


@given(st.integers(4, 12), gains_of)
def test_k_is_kept_exactly_where_it_is_expected_to_be_near_the_best_and_not_to_harm(k, gains):
    table = np.array(gains).reshape(2, 4)
    at_k, best = float(np.interp(np.log(k), np.log(KS), table[0])), max(table[:, np.array(KS) <= k].ravel())
    found = checked(k, KS, table)
    if best <= 0:
        assert found == Scale(k, 0.0, 0.0)
    elif at_k >= 0 and at_k >= best - MARGIN:
        assert found == Scale(k, 1.0, at_k)
    else:
        assert found.gain == best == table[SHARES.index(found.share), KS.index(found.k)]


def test_the_margin_is_a_margin():
    gains = np.zeros((2, 4))
    gains[1, 2] = MARGIN
    assert checked(12, KS, gains) == Scale(12, 1.0, 0.0)
    gains[1, 2] += 0.01
    assert checked(12, KS, gains) == Scale(8, 0.5, MARGIN + 0.01)
    assert checked(6, KS, gains) == Scale(6, 0.0, 0.0)  # a larger k is never taken


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
