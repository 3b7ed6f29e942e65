"""The k smallest keys against a stable sort."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.rerank._heap import offer, sort_heap


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60), st.data())
@settings(deadline=None, max_examples=100)
def test_the_smallest_keys_come_out_sorted_and_of_equal_keys_the_lower_row(values, data):
    k = data.draw(st.integers(1, len(values)))
    everything = np.array(values, dtype=np.float32)
    keys, rows, count = np.empty(k, np.float32), np.empty(k, np.int32), 0
    for row, key in enumerate(everything):
        if count < k or key < keys[0]:
            count = offer(key, np.int32(row), count, keys, rows)
    sort_heap(keys, rows)
    expected = np.argsort(everything, kind="stable")[:k]
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(keys, everything[expected])
