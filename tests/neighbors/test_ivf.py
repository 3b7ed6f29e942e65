"""Inverted lists against exact search and against a scan of the probed cells."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.neighbors.ivf import Cells, IvfSearch, Probes


def test_approximate_search_reaches_the_recall_it_reports(clustered):
    X = clustered(4000, 16, centers=60)
    g = kf.knn_graph(X, k=10, method="ivf", recall=0.97).validate()
    truth = kf.knn_graph(X, k=10, method="exact")
    measured = np.mean([np.isin(t, f).mean() for f, t in zip(g.indices, truth.indices, strict=True)])
    assert g.method == "ivf"
    assert g.recall >= 0.97
    assert measured == pytest.approx(g.recall, abs=0.01)
    again = kf.knn_graph(X, k=10, method="ivf", recall=0.97)
    np.testing.assert_array_equal(g.indices, again.indices)


@pytest.mark.parametrize("external", [False, True])
def test_inverted_lists_find_what_a_scan_of_the_same_cells_finds(clustered, external):
    X = kf.features.unit_rows(clustered(900, 8))
    cells = Cells.build(X, seed=3)
    share, k = 0.7, 7
    search = IvfSearch.probing(cells, X, share, recall=0.0)
    queries = kf.features.unit_rows(clustered(40, 8, seed=5)) if external else X[:40]
    found = search.candidates(queries, np.full(40, -1) if external else np.arange(40), k)
    nearness = X @ cells.centroids.T
    probed = nearness >= share * nearness.max(axis=1, keepdims=True)
    own = nearness.argmax(axis=1)
    np.testing.assert_array_equal(own, cells.of_target)
    for query, candidates in zip(queries, found, strict=True):
        near = cells.centroids @ query
        met = np.flatnonzero((near >= share * near.max())[own] | probed[:, near.argmax()])
        best = met[np.argsort(-(X[met] @ query), kind="stable")[: found.shape[1]]]
        assert sorted(candidates[candidates >= 0]) == sorted(best)


def test_ivf_gives_way_to_exact_search_where_it_would_probe_everything():
    X = np.random.default_rng(0).standard_normal((600, 64))  # no clusters at all: lists do not help
    g = kf.knn_graph(X, k=20, method="ivf", recall=1.0)
    assert g.method == "exact"
    assert g.recall == 1.0


def test_probes_are_the_cells_almost_as_near_as_the_nearest(clustered):
    X = kf.features.unit_rows(clustered(50, 4))
    X[0] = [-1, 0, 0, 0]
    centroids = np.abs(kf.features.unit_rows(clustered(9, 4, seed=1)))  # row 0 points away from all of them
    probes = Probes.of(X, centroids, 0.8)
    for row, nearness in enumerate(X @ centroids.T):
        expected = {int(nearness.argmax()), *np.flatnonzero(nearness >= 0.8 * max(nearness.max(), 1e-6)).tolist()}
        assert set(probes.cells[probes.starts[row] : probes.starts[row + 1]].tolist()) == expected
        assert probes.own[row] == nearness.argmax()
    some = probes.take(np.array([7, 0]))
    np.testing.assert_array_equal(some.cells[: some.starts[1]], probes.cells[probes.starts[7] : probes.starts[8]])
    np.testing.assert_array_equal(some.rows, np.repeat([0, 1], np.diff(some.starts)))


def test_cells_hold_every_row_once_in_the_cell_of_its_nearest_centroid(clustered):
    X = kf.features.unit_rows(clustered(200, 4))
    cells = Cells.build(X, seed=0)
    np.testing.assert_array_equal(np.sort(cells.members), np.arange(200))
    for cell in range(len(cells.centroids)):
        members = cells.members[cells.starts[cell] : cells.starts[cell + 1]]
        np.testing.assert_array_equal(members, np.flatnonzero((X @ cells.centroids.T).argmax(axis=1) == cell))
