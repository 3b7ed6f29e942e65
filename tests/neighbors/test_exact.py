"""Exact search against all cosines, sorted."""

import numpy as np

import kinfolk as kf
from kinfolk.neighbors.exact import SLACK, ExactSearch


def test_candidates_are_the_most_similar_rows_and_a_few_more(clustered):
    X = kf.features.unit_rows(clustered(90, 6))
    queries = X[:5]
    found = ExactSearch(X).candidates(queries, np.full(5, -1), k=4)
    assert found.shape == (5, 4 + SLACK)
    np.testing.assert_array_equal(found, np.argsort(-(queries @ X.T), axis=1)[:, : 4 + SLACK])


def test_there_are_no_more_candidates_than_rows():
    X = np.eye(3, dtype=np.float32)
    assert ExactSearch(X).candidates(X, np.arange(3), k=3).shape == (3, 3)


def test_the_order_is_that_of_the_rows_or_of_the_queries():
    X = np.eye(3, dtype=np.float32)
    assert ExactSearch(X).order(None).tolist() == [0, 1, 2]
    assert ExactSearch(X).order(X[:2]).tolist() == [0, 1]
