"""The middle of each cluster, against a loop over the clusters."""

import numpy as np
import pytest

from kinfolk.cluster._internal import medoids as module
from kinfolk.cluster._internal.medoids import cluster_sums, medoids


def by_loop(labels, X):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = labels < 0
    for label in set(labels[labels >= 0].tolist()):
        members = np.flatnonzero(labels == label)
        mean = unit[members].mean(axis=0)
        cosines = unit[members] @ mean / np.linalg.norm(mean)
        found[members[np.argmax(cosines > cosines.max() - 1e-6)]] = True
    return found


@pytest.mark.parametrize("block_rows", [3, 1000])
def test_the_row_nearest_to_the_mean_direction(monkeypatch, block_rows):
    rng = np.random.default_rng(0)
    for n, clusters in ((1, 1), (40, 5), (200, 60)):
        X, labels = rng.standard_normal((n, 6)), rng.integers(-1, clusters, n) * 7
        blocks = module.blocks
        monkeypatch.setattr(module, "blocks", lambda matrix, blocks=blocks: blocks(matrix, 4 * 6 * block_rows))
        np.testing.assert_array_equal(medoids(labels, X), by_loop(labels, X))
        monkeypatch.undo()


def test_one_a_cluster_the_first_of_equal_rows():
    assert medoids(np.array([2, 2, 0, 0, 0]), np.ones((5, 3))).tolist() == [True, False, True, False, False]
    assert medoids(np.array([0, 0]), np.array([[1.0, 0], [-1.0, 0]])).tolist() == [True, False]


def test_sums_are_of_rows_of_length_one():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((30, 4)), rng.integers(-1, 4, 30)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for label, found in enumerate(cluster_sums(labels, X)):
        np.testing.assert_allclose(found, unit[labels == label].sum(axis=0), atol=1e-5)
    assert cluster_sums(np.array([-1]), X[:1]).shape == (0, 4)
