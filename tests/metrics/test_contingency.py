"""The contingency table beside scikit-learn, and its counts beside loops over the items."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.cluster import contingency_matrix

from kinfolk.metrics._contingency import cell_counts, contingency


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=40))
def test_the_table_is_that_of_scikit_learn(pairs):
    y, p = zip(*pairs, strict=True)
    table = contingency(y, p)
    np.testing.assert_array_equal(table.toarray(), contingency_matrix(y, p))
    assert table.has_sorted_indices
    counts = cell_counts(table)
    cells = [(c, k) for c in sorted(set(y)) for k in sorted(set(p)) if (c, k) in pairs]
    for number, (c, k) in enumerate(cells):
        assert counts.items[number] == counts.both[number] == pairs.count((c, k))
        assert counts.cluster[number] == p.count(k)
        assert counts.cls[number] == y.count(c)
        assert counts.all[number] == len(pairs)


def test_items_without_a_cluster_are_columns_of_their_own():
    assert contingency([0, -1, 1, 1, 0], [2, 2, -1, -5, 2]).toarray().tolist() == [[2, 0, 0], [0, 1, 1]]


def test_draws_of_one_class_are_not_compared():
    counts = cell_counts(contingency([0, 0, 1, 1], [0, 1, 0, 0]), np.array([3.0, 2.0]))
    # cells (0, 0), (0, 1), (1, 0): one item of its class and cluster, and those of the other class as often as drawn
    assert counts.items.tolist() == [3, 3, 4]
    assert counts.cluster.tolist() == [1 + 2 * 2, 1, 2 + 3 * 1]
    assert counts.all.tolist() == [2 + 2 * 2, 2 + 2 * 2, 2 + 3 * 2]
    assert counts.mean(counts.both) == (3 * 1 + 3 * 1 + 4 * 2) / 10
    assert counts.take(np.array([False, True, False])).items.tolist() == [3]
