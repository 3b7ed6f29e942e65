"""The tests at many scales, beside sets that are counted one edge at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.kinship.edge_tests import NAMES, TEST_SCALES, edge_tests
from kinfolk.neighbors import NeighborGraph


def points(n: int, seed: int, dim: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def unit_of(similarity: float, falling: list[float], k: int, window: int) -> float:
    near = falling[: max(1, k // 4)]
    high, low = sum(near) / len(near), falling[window - 1]
    return (similarity - low) / (high - low + 1e-3)


def slow_tests(g: NeighborGraph, k: int, asking: NeighborGraph | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Count common members of sets; the asking row is written into the lists of others where it would stand."""
    own = asking is None
    asking = g if asking is None else asking
    window = min(2 * k, g.k, asking.k)
    values = np.zeros((len(asking), window, len(NAMES)))
    reciprocal = np.zeros((len(asking), window), dtype=bool)
    for i in range(len(asking)):
        me = i if own else "the query"
        mine = asking.indices[i].tolist()
        for a, j in enumerate(mine[:window]):
            s = float(asking.similarities[i, a])
            theirs = g.similarities[j].tolist()
            back = 1 + sum(other > s for other in theirs[:window])
            for level, scale in enumerate(TEST_SCALES):
                size = min(max(1, round(k * scale)), window)
                mine_of_size = {me, *mine[:size]}
                # the row itself takes a place of its own where the list was made without it
                theirs_of_size = {j, *(m for m in g.indices[j, :size].tolist() if m != me)}
                if back <= size:
                    theirs_of_size.add(me)
                values[i, a, level] = len(mine_of_size & theirs_of_size) / (size + 1)
            values[i, a, len(TEST_SCALES) :] = (
                math.log((a + 1) / k),
                math.log(back / k),
                back <= k,
                back <= window,
                unit_of(s, asking.similarities[i].tolist(), k, window),
                unit_of(s, theirs, k, window),
            )
            reciprocal[i, a] = back <= k
    return values, reciprocal


@settings(max_examples=40, deadline=None)
@given(data=st.data(), n=st.integers(6, 40), seed=st.integers(0, 999))
def test_every_test_equals_counting_over_sets(data, n, seed):
    g = kf.knn_graph(points(n, seed), k=data.draw(st.integers(2, n - 1), label="g.k"))
    k = data.draw(st.integers(1, g.k), label="k")  # from half of g.k on the window is cut
    values, reciprocal = slow_tests(g, k)
    found = edge_tests(g, k)
    assert found.values.shape == (n, min(2 * k, g.k), len(NAMES))
    np.testing.assert_allclose(found.values, values, atol=2e-4, rtol=1e-4)
    np.testing.assert_array_equal(found.reciprocal, reciprocal)


def test_reciprocal_is_being_in_each_others_lists():
    g = kf.knn_graph(points(60, 3), k=20)
    listed = np.array([[i in g.indices[j, :10] for j in g.indices[i, :20]] for i in range(60)])
    np.testing.assert_array_equal(edge_tests(g, 10).reciprocal, listed)


@pytest.mark.parametrize("rows", [slice(5, 9), np.array([30, 2, 2, 17]), np.arange(31) % 2 == 0])
def test_some_rows_are_the_rows_of_the_whole(rows):
    g = kf.knn_graph(points(31, 1), k=12)
    whole, some = edge_tests(g, 6), edge_tests(g, 6, rows=rows)
    np.testing.assert_array_equal(some.values, whole.values[rows])
    np.testing.assert_array_equal(some.reciprocal, whole.reciprocal[rows])


def test_blocks_of_queries_are_the_rows_of_the_whole():
    g = kf.knn_graph(points(31, 1), k=12)
    queries = kf.knn_graph(points(31, 1), k=13, queries=points(9, 2))
    whole = edge_tests(g, 6, queries=queries).values
    blocks = [edge_tests(g, 6, rows=np.arange(s, min(s + 4, 9)), queries=queries).values for s in (0, 4, 8)]
    np.testing.assert_array_equal(np.concatenate(blocks), whole)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), n=st.integers(6, 30), seed=st.integers(0, 999))
def test_queries_stand_in_the_lists_of_others_where_they_would_be_inserted(data, n, seed):
    X = points(n, seed)
    g = kf.knn_graph(X, k=data.draw(st.integers(2, n - 1), label="g.k"))
    queries = kf.knn_graph(X, k=data.draw(st.integers(2, n), label="queries.k"), queries=points(5, seed + 1000))
    k = data.draw(st.integers(1, min(g.k, queries.k)), label="k")
    values, reciprocal = slow_tests(g, k, queries)
    found = edge_tests(g, k, queries=queries)
    np.testing.assert_allclose(found.values, values, atol=2e-4, rtol=1e-4)
    np.testing.assert_array_equal(found.reciprocal, reciprocal)


def test_a_left_out_row_that_asks_is_judged_nearly_as_when_it_was_in():
    fs = kf.datasets.celeb_like(6, dim=32)
    X, left_out, k = fs.features, 5, 20
    others = np.delete(X, left_out, axis=0)
    inside = edge_tests(kf.knn_graph(X, k=40), k)
    asking = kf.knn_graph(others, k=40, queries=X[left_out : left_out + 1])
    outside = edge_tests(kf.knn_graph(others, k=40), k, queries=asking)
    # one neighbour may enter a list where the left-out row stood: a share moves by one of its members
    sizes = np.array([max(1, round(k * scale)) + 1 for scale in TEST_SCALES])
    difference = np.abs(outside.values[0] - inside.values[left_out])
    assert (difference[:, : len(TEST_SCALES)] <= 1 / sizes + 1e-6).all()
    assert (difference[:, len(TEST_SCALES) : len(TEST_SCALES) + 4] == 0).all()
    np.testing.assert_array_equal(outside.reciprocal[0], inside.reciprocal[left_out])


def test_what_cannot_be_asked_is_refused():
    X = points(10, 0)
    g = kf.knn_graph(X, k=5)
    for k in (0, 6):
        with pytest.raises(kf.InputError, match="between 1 and 5"):
            edge_tests(g, k)
    with pytest.raises(kf.InputError, match="over all rows"):
        edge_tests(kf.knn_graph(X, k=5, queries=X[:2]), 2)
