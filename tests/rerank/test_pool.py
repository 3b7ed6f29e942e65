"""The neighbours of queries and gallery together, against a full search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.features import UnitRows
from kinfolk.rerank import METHODS, _pool
from kinfolk.rerank._pool import Pool
from rerank import dense


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 60), st.integers(1, 100), st.integers(0, 10**6))
def test_pairs_compared_once_give_the_lists_of_a_full_search(n_queries, n_gallery, k, seed):
    query, gallery = dense.generated(n_queries, n_gallery, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pool, "STRIP_ROWS", 7)
        patch.setattr(_pool, "TASK_COLUMNS", 11)
        patch.setattr(_pool, "TASK_ROWS", 3)
        pool = Pool(query, gallery)
        found = pool.neighbors(k)
    S = dense.cosines(query, gallery)
    k = min(k, len(S) - 1)
    np.testing.assert_array_equal(found.indices, dense.rank_lists(S)[:, 1 : k + 1])
    np.testing.assert_allclose(found.similarities, np.take_along_axis(S, found.indices, axis=1), atol=1e-5)
    np.testing.assert_allclose(found.lowest, S.min(axis=1), atol=1e-5)
    np.testing.assert_allclose(pool.similarities(0, n_queries), S[:n_queries, n_queries:], atol=1e-5)
    np.testing.assert_allclose(pool.distances(0, n_queries), 1 - S[:n_queries, n_queries:], atol=1e-5)


def test_of_equal_neighbours_the_lower_row_comes_first():
    X = np.eye(3).repeat(40, axis=0)
    found = Pool(X[:50], X[50:]).neighbors(39)
    expected = [[j for j in range(120) if j // 40 == i // 40 and j != i] for i in range(120)]
    np.testing.assert_array_equal(found.indices, expected)


def test_products_that_are_not_kept_give_the_same_ranking(monkeypatch):
    query, gallery = dense.generated(20, 300)
    kept = kf.rerank.k_reciprocal(query, gallery, 10, 3)
    monkeypatch.setattr(_pool, "KEPT_BYTES", 0)
    again = kf.rerank.k_reciprocal(query, gallery, 10, 3)
    np.testing.assert_allclose(again.distances, kept.distances, atol=1e-5)


def test_rows_of_length_one_are_taken_as_they_are():
    query, gallery = (dense.unit(X).astype(np.float32) for X in dense.generated(3, 9))
    pool = Pool(UnitRows(query), UnitRows(gallery))
    np.testing.assert_array_equal(pool.query, query)
    np.testing.assert_array_equal(pool.gallery, gallery)


def test_replaced_queries_are_compared_anew():
    query, gallery = dense.generated(3, 9)
    pool = Pool(query, gallery)
    pool.neighbors(2)
    pool.replace_queries(pool.gallery[:3])
    np.testing.assert_allclose(np.diag(pool.similarities(0, 3)), 1, atol=1e-5)


def test_dimensions_that_differ_are_refused():
    for method in (*METHODS.values(), kf.rerank.band):
        with pytest.raises(kf.InputError, match="the queries have 2 dimensions, the gallery 3"):
            method(np.ones((1, 2)), np.ones((1, 3)))
