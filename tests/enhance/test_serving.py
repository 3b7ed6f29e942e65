"""How a fitted enhancer serves rows: searches, k, and rows that are few."""

from __future__ import annotations

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.enhance import _serving
from kinfolk.kinship.choose_k import neighbors_to_choose
from kinfolk.kinship.edge_probabilities import window_of


def quiet(**settings) -> kf.GraphEnhancer:
    return kf.GraphEnhancer(show_progress=False, **settings)


@pytest.fixture(scope="module", name="X")
def rows() -> np.ndarray:
    return kf.features.unit_rows(kf.datasets.celeb_like(8, dim=32, seed=0))


def test_a_few_near_copies_take_no_second_search(monkeypatch):
    searches = []
    search = _serving.knn_graph
    monkeypatch.setattr(_serving, "knn_graph", lambda *a, **b: searches.append(1) or search(*a, **b))
    X = np.random.default_rng(0).standard_normal((144, 16))
    quiet().fit_transform(np.concatenate([X, X[7] + 1e-6 * np.random.default_rng(1).standard_normal((10, 16))]))
    assert len(searches) == 1


def test_fit_transform_searches_once_and_gives_the_same_bits(monkeypatch):
    fs = kf.datasets.celeb_like(8, seed=0)
    expected = kf.GraphEnhancer(show_progress=False).fit(fs).transform(fs)
    searches = []
    search = _serving.knn_graph
    monkeypatch.setattr(_serving, "knn_graph", lambda *a, **b: searches.append(1) or search(*a, **b))
    enhancer = kf.GraphEnhancer(show_progress=False)
    np.testing.assert_array_equal(enhancer.fit_transform(fs), expected)
    assert len(searches) == 1
    held = [name for name, value in vars(enhancer).items() if isinstance(value, kf.NeighborGraph)]
    assert not held, "a fitted enhancer holds no graph"


def test_the_graph_is_as_wide_as_k_needs(X):
    assert _serving.graph_of(quiet(k=7), X).k == window_of(7)
    assert _serving.graph_of(quiet(), X).k == neighbors_to_choose(len(X))
    assert _serving.graph_of(quiet(k=7), X[:5]).k == 4
    queries = _serving.graph_of(quiet(k=3), X, X[:9])
    assert (len(queries), queries.n_targets, queries.square) == (9, len(X), False)


@pytest.mark.parametrize("k", [3, 10**4])
def test_a_given_k_is_used_as_far_as_there_are_neighbours(X, k):
    g = _serving.graph_of(quiet(k=3), X)
    assert _serving.k_for(quiet(k=k), g, g) == min(k, g.k)


def test_another_set_has_its_own_k(X):
    e = quiet().fit(X)
    few = kf.datasets.vehicle_like(8, dim=32, seed=1).features[::4]
    expected = quiet().fit(few).k_
    unit = e._centred(few, "X")
    g = _serving.graph_of(e, unit)
    things, plain, _ = _serving.distinct(e, unit, g)
    assert len(things) <= len(unit)
    assert abs(_serving.k_for(e, plain, plain) - expected) <= 2  # centred by another mean


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_stay_rows_of_length_one(X, n):
    Z = quiet().fit(X).transform(X[:n])
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=1e-5)


def test_a_reference_needs_two_rows(X):
    with pytest.raises(kf.InputError, match="a reference needs at least 2 rows, not 1"):
        quiet().fit(X).transform(X, reference=X[:1])
