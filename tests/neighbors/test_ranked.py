"""Neighbours among the neighbours of a graph, by other features: beside sorted products."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.features import UnitRows
from kinfolk.neighbors.ranked import cosines, ranked


def unit(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d)).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 40), st.integers(1, 6), st.data())
def test_the_best_of_the_first(n, d, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    g = kf.knn_graph(UnitRows(unit(rng, n, 4)), data.draw(st.integers(1, n - 1)), show_progress=False)
    X, k, among = unit(rng, n, d), data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    found = ranked(X, g, k, among)
    among = min(among, g.k)
    k = min(k, among)
    assert found.k == k
    for row in range(n):
        given_ones = g.indices[row, :among]
        np.testing.assert_allclose(found.similarities[row], np.sort(X[given_ones] @ X[row])[::-1][:k], atol=1e-5)
        assert set(found.indices[row]) <= set(given_ones)
        assert len(set(found.indices[row])) == k


def test_queries_are_compared_with_the_rows_of_the_reference():
    rng = np.random.default_rng(0)
    old, new = unit(rng, 50, 8), unit(rng, 9, 8)
    g = kf.knn_graph(UnitRows(old), 20, queries=UnitRows(new), show_progress=False)
    moved_old, moved_new = unit(rng, 50, 3), unit(rng, 9, 3)
    found = ranked(moved_new, g, 5, 20, moved_old)
    assert (len(found), found.n_targets, found.square) == (9, 50, False)
    best = np.sort(np.take_along_axis(moved_new @ moved_old.T, g.indices, axis=1))[:, ::-1][:, :5]
    np.testing.assert_allclose(found.similarities, best, atol=1e-6)


def test_equal_ones_keep_their_order():
    g = kf.knn_graph(np.eye(6) + 0.1, 4, show_progress=False)
    same = np.ones((6, 2), dtype=np.float32) * np.float32(np.sqrt(0.5))
    np.testing.assert_array_equal(ranked(same, g, 4, 4).indices, g.indices)


@pytest.mark.parametrize("width", [1, 7])
def test_cosines_against_products(width):
    X = unit(np.random.default_rng(0), 30, 5)
    near = kf.knn_graph(UnitRows(X), width, show_progress=False).indices
    np.testing.assert_allclose(cosines(X, near), np.einsum("nd,nkd->nk", X, X[near]), atol=1e-5)
