"""Union-find against spreading the lowest number."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.cluster._internal.union_find import connected, find, roots


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60))
@settings(max_examples=60, deadline=None)
def test_union_find_gives_the_lowest_row_of_each_part(n, edges):
    edges = np.array([e for e in edges if max(e) < n], dtype=np.int64).reshape(-1, 2)
    found = connected(n, edges[:, 0], edges[:, 1])
    expected = np.arange(n)
    for _ in range(n):  # spread the lowest number until nothing changes
        for a, b in edges:
            expected[a] = expected[b] = min(expected[a], expected[b])
    np.testing.assert_array_equal(found, expected)


def test_find_halves_the_path_and_roots_do_not_change_it():
    parent = np.array([0, 0, 1, 2], dtype=np.int32)
    np.testing.assert_array_equal(roots(parent.copy()), [0, 0, 0, 0])
    assert find(parent, 3) == 0
    np.testing.assert_array_equal(parent, [0, 0, 1, 1])
