"""The kin count over k, and how its shape is read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.kinship import edge_tests, kin_counts
from kinfolk.kinship.kin_counts import kin_counts as counts_of
from kinfolk.kinship.kin_counts import rise_after, rose_to


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


@given(st.lists(st.floats(0, 2), min_size=1, max_size=12), st.data())
def test_a_rise_ends_where_the_counts_fall_below_the_bottom(counts, data):
    bottom = data.draw(st.integers(0, len(counts) - 1))
    highest = counts[bottom]
    for value in counts[bottom:]:
        if value < counts[bottom]:
            break
        highest = max(highest, value)
    assert rise_after(np.array(counts), bottom) == pytest.approx(highest - counts[bottom])


@given(st.lists(st.floats(0, 2), min_size=1, max_size=12), st.data())
def test_a_peak_was_risen_to_if_something_before_it_is_much_lower(counts, data):
    peak = data.draw(st.integers(0, len(counts) - 1))
    assert rose_to(np.array(counts), peak) == any(counts[peak] - c > 0.1 for c in counts[:peak])
