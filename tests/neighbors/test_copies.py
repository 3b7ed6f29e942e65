"""Near copies: which rows they are, and graphs without them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.neighbors.copies import (
    NEIGHBORS,
    SHARE_OF_DISTANCE,
    graph_among,
    near_copies,
    without_near_copies,
)


def test_bursts_are_found_and_others_are_not_joined():
    fs = kf.datasets.celeb_like(15, seed=0)
    rng = np.random.default_rng(0)
    copied = rng.choice(len(fs), 30, replace=False)
    noise = rng.standard_normal((30, fs.features.shape[1])) * 0.002
    g = kf.knn_graph(np.concatenate([fs.features, fs.features[copied] + noise]), NEIGHBORS, show_progress=False)
    first, which, distance = near_copies(g.indices, g.similarities)
    assert (which[len(fs) :] == which[copied]).all()
    assert len(np.unique(which[: len(fs)])) > 0.98 * len(fs)  # the set has a few of its own
    assert which[first].tolist() == list(range(len(first)))
    far = np.sqrt(2 - 2 * g.similarities[:, -1])
    assert distance == pytest.approx(SHARE_OF_DISTANCE * np.median(far), rel=1e-4)
    free = np.ones(len(g), dtype=bool)
    free[copied[0]] = False
    apart = near_copies(g.indices, g.similarities, free)[1]
    assert (apart == apart[copied[0]]).sum() == 1


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 19))
def test_a_graph_among_some_rows_is_the_beginning_of_their_own(seed, some, fewest):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 8))
    rows = np.sort(rng.permutation(40)[:some])
    g = kf.knn_graph(X, 20, show_progress=False)
    found = graph_among(g, rows, fewest)
    left = min(np.isin(g.indices[row], rows).sum() for row in rows)
    if found is None:
        assert left < fewest
        return
    assert found.k == left >= fewest
    own = kf.knn_graph(X[rows], found.k, show_progress=False)
    np.testing.assert_array_equal(found.indices, own.indices)
    np.testing.assert_allclose(found.similarities, own.similarities, atol=1e-6)


def test_without_near_copies_a_graph_is_that_of_what_the_rows_show():
    X = np.random.default_rng(0).standard_normal((90, 8))
    g = kf.knn_graph(X, 40, show_progress=False)
    assert without_near_copies(g) is g
    twice = without_near_copies(kf.knn_graph(np.concatenate([X, X[:5]]), 40, show_progress=False))
    assert len(twice) == 90
    sums = (np.sort(some.similarities[:, : twice.k].sum(axis=1)) for some in (twice, g))
    np.testing.assert_allclose(*sums, atol=1e-4)
    equal = kf.knn_graph(np.ones((30, 4)), 10, show_progress=False)
    assert without_near_copies(equal) is equal


def test_the_ends_of_a_chain_are_no_copies_where_rows_are_known():
    turns = np.linspace(0, np.pi / 2, 25)[:, None]
    L = np.random.default_rng(0).standard_normal((150, 64))
    L /= np.linalg.norm(L, axis=1, keepdims=True)
    X = np.r_[L[2:], np.cos(turns) * L[:1] + np.sin(turns) * L[1:2]].astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    g = kf.knn_graph(X, NEIGHBORS, show_progress=False)
    chained = near_copies(g.indices, g.similarities)[1]
    assert chained[148] == chained[-1]
    first, which, distance = near_copies(g.indices, g.similarities, X=X)
    assert which[148] != which[-1]
    assert np.linalg.norm(X - X[first[which]], axis=1).max() <= distance + 1e-6
