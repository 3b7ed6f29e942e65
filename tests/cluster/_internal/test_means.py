"""Sums and directions of cluster means."""

import numpy as np

from kinfolk.cluster._internal.means import mean_directions, sums_of


def test_directions_are_those_of_the_means():
    rng = np.random.default_rng(0)
    Z, labels = rng.standard_normal((30, 4)).astype(np.float32), rng.permutation(np.arange(30) % 5)
    for label, found in enumerate(mean_directions(Z, labels)):
        mean = Z[labels == label].mean(axis=0)
        np.testing.assert_allclose(found / np.linalg.norm(found), mean / np.linalg.norm(mean), atol=1e-6)


def test_rows_that_cancel_are_replaced_by_the_first_of_them():
    Z = np.array([[0, 1], [1, 0], [-1, 0]], dtype=np.float32)
    np.testing.assert_array_equal(mean_directions(Z, np.array([1, 0, 0])), [[1, 0], [0, 1]])


def test_sums_against_masks():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((40, 3)).astype(np.float32), rng.integers(0, 6, 40)
    np.testing.assert_allclose(sums_of(X, labels, 7), [X[labels == c].sum(axis=0) for c in range(7)], atol=1e-5)
