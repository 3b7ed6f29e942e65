"""The features Kin grows its trees in: their definitions, and neighbours among neighbours."""

from dataclasses import replace

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal import spaces as module
from kinfolk.cluster._internal.candidates import BOTH, ENHANCED, RAW
from kinfolk.features import unit_rows
from kinfolk.neighbors.copies import NEIGHBORS, near_copies


@pytest.fixture(scope="module")
def faces():
    everyone = unit_rows(kf.datasets.celeb_like(15, dim=64, seed=0))
    g = kf.knn_graph(everyone, NEIGHBORS, show_progress=False)
    unit = everyone[near_copies(g.indices, g.similarities)[0]]  # copies are one row before features are enhanced
    mean = unit.mean(axis=0)
    C = module.centred(unit, mean)
    g = module.search(C, 0)
    return unit, C, g, module.spaces_of(unit, C, mean, g, None, 0)


def test_they_are_those_of_the_enhancer(faces):
    unit, C, _, found = faces
    for kind, hops in ((BOTH, 2), (ENHANCED, 5)):
        e = kf.GraphEnhancer(hops=hops, show_progress=False).fit(unit)
        assert e.k_ == found.k
        e.propagation_ = replace(e.propagation_, nearest=False)
        Z = e.transform(unit)
        Z = module.side_by_side(found.features[RAW], Z) if kind == BOTH else Z
        if hops == 5:  # the enhancer learns its map from as many hops as it takes
            np.testing.assert_allclose(found.features[kind], Z, atol=1e-4)
        assert np.einsum("nd,nd->n", found.features[kind], Z).mean() > 0.999
    np.testing.assert_array_equal(found.features[RAW], found.learned.rows)
    np.testing.assert_allclose(found.learned.of(C), found.learned.rows, atol=1e-6)


def test_a_set_too_small_for_a_map_keeps_its_rows(faces):
    unit = faces[0][:300]
    mean = unit.mean(axis=0)
    C = module.centred(unit, mean)
    found = module.spaces_of(unit, C, mean, module.search(C, 0), None, 0)
    assert found.learned is None
    np.testing.assert_array_equal(found.features[RAW], C)
    e = kf.GraphEnhancer(show_progress=False).fit(unit)
    np.testing.assert_allclose(found.best, e.transform(unit, nearest_scale=False), atol=1e-4)


def test_both_have_the_mean_similarity(faces):
    found = faces[3]
    C = found.features[RAW]
    Z = found.features[BOTH][:, C.shape[1] :] * np.sqrt(2)
    np.testing.assert_allclose(found.features[BOTH] @ found.features[BOTH][0], (C @ C[0] + Z @ Z[0]) / 2, atol=1e-5)


def test_neighbours_are_the_best_of_the_window(faces):
    found = faces[3]
    g, Z, k = found.graph, found.best, 30
    h = found.nearest(k)
    among = module.window(g, found.k)
    for row in range(0, len(Z), 31):
        given = g.indices[row, : max(k, among)]
        expected = given[np.argsort(-(Z[given] @ Z[row]), kind="stable")][:k]
        np.testing.assert_allclose(h.similarities[row], Z[expected] @ Z[row], atol=1e-5)
    h.validate()


def test_nearly_all_true_neighbours_are_in_the_window(faces):
    found = faces[3]
    exact = kf.knn_graph(found.best, 20, show_progress=False).indices
    near = found.nearest(20).indices
    assert np.mean([len(set(a) & set(b)) / 20 for a, b in zip(exact, near, strict=True)]) > 0.9


def test_rows_that_are_taken_as_they_are(faces):
    _, C, g, _ = faces
    found = module.only_given(C, np.zeros(C.shape[1], dtype=np.float32), g)
    assert list(found.features) == [RAW]
    assert found.best is C
    np.testing.assert_array_equal(found.nearest(9).indices, g.indices[:, :9])


def test_a_large_set_is_searched_approximately(faces, monkeypatch):
    monkeypatch.setattr(module, "EXACT_BUDGET", 0)
    C = faces[1]
    g = module.search(C, 0)
    assert g.recall >= module.RECALL
    assert len(g) == len(C)


@pytest.mark.parametrize("kind", [RAW, BOTH, ENHANCED])
def test_new_rows_are_made_as_the_fitted_ones(faces, kind):
    unit, _, _, found = faces
    again = module.in_space(unit[:50], found, kind)
    np.testing.assert_allclose(np.linalg.norm(again, axis=1), 1, atol=1e-5)
    least = {RAW: 1 - 1e-6, BOTH: 0.99, ENHANCED: 0.98}[kind]  # a row meets itself among its neighbours
    assert np.einsum("nd,nd->n", again, found.features[kind][:50]).mean() > least
    one = np.concatenate([module.in_space(unit[i : i + 1], found, kind) for i in range(9)])
    np.testing.assert_allclose(one, again[:9], atol=1e-5)
