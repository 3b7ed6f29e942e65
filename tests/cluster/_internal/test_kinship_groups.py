"""Groups of the kinship graph: classes of the size that is asked for, and rows that must be together."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal.constraints import read_constraints
from kinfolk.cluster._internal.kinship_groups import LARGEST_K, k_around, kinship_groups


@pytest.fixture(scope="module")
def classes():
    truth = np.repeat(np.arange(12), 20)
    X = np.eye(12)[truth] + 0.1 * np.random.default_rng(0).standard_normal((240, 12))
    return truth, kf.knn_graph(X, 40, show_progress=False)


def test_even_classes_are_found(classes):
    truth, g = classes
    assert kf.metrics.ari(truth, kinship_groups(g, 20, 0)) > 0.95


def test_rows_that_must_be_together_are(classes):
    _, g = classes
    free, linked = (kinship_groups(g, 20, 0, read_constraints(240, must).together) for must in (None, [(0, 100)]))
    assert free[0] != free[100]
    assert linked[0] == linked[100]


@pytest.mark.parametrize(
    ("sizes", "neighbors", "expected"),
    [([1] * 9, 384, 2), ([4] * 5, 384, 3), ([60] * 3, 50, 25), ([90000, 900], 384, LARGEST_K)],
)
def test_k_follows_the_sizes_within_the_graph(sizes, neighbors, expected):
    assert k_around(np.repeat(np.arange(len(sizes)), sizes), neighbors) == expected
