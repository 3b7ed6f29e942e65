"""knn_graph against a slow and obvious reference: all similarities in float64, sorted."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.neighbors import search as search_module
from kinfolk.neighbors.exact import ExactSearch
from kinfolk.neighbors.ivf import Cells, IvfSearch


def reference(X, k, queries=None):
    """Return the k best of all float64 cosines, the lower row number first among equals."""
    unit = X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    asked = unit if queries is None else queries / np.linalg.norm(queries.astype(np.float64), axis=1, keepdims=True)
    cosines = (asked @ unit.T).round(6)
    if queries is None:
        np.fill_diagonal(cosines, -np.inf)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(cosines, order, axis=1)


def clustered(n, d, seed=0, centers=20):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((centers, d))[rng.integers(0, centers, n)] + 0.5 * rng.standard_normal((n, d))


@given(st.integers(2, 60), st.integers(1, 9), st.integers(0, 10**6), st.data())
@settings(deadline=None, max_examples=60)
def test_exact_equals_the_reference_with_many_duplicates(n, d, seed, data):
    k = data.draw(st.integers(1, n - 1))
    # few different integer vectors: most rows have exact duplicates and many cosines tie
    X = np.random.default_rng(seed).integers(-2, 3, (n, d)).astype(np.float32)
    X[~X.any(axis=1)] = 1
    g = kf.knn_graph(X, k).validate()
    order, cosines = reference(X, k)
    np.testing.assert_allclose(g.similarities, cosines, atol=2e-6)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for row, found in enumerate(g.indices):
        # equal in float64 to six digits may differ in float32's last bit: compare the similarities of the choices
        np.testing.assert_allclose(unit[found] @ unit[row], cosines[row], atol=2e-6)
    assert g.recall == 1.0
    assert g.method == "exact"
    assert order.shape == g.indices.shape


def test_equal_vectors_are_neighbours_in_row_order_and_self_is_left_out():
    X = np.tile(np.array([[0.3, 0.7, -0.2]], dtype=np.float32), (300, 1))
    g = kf.knn_graph(X, k=120)
    for row in (0, 57, 150, 299):
        expected = np.delete(np.arange(300), row)[:120]
        np.testing.assert_array_equal(g.indices[row], expected)


def test_similarities_are_symmetric_to_the_bit_and_do_not_depend_on_chunks(monkeypatch):
    X = clustered(700, 33)
    whole = kf.knn_graph(X, k=12)
    dense = whole.to_scipy().toarray()
    both = (dense != 0) & (dense.T != 0)
    np.testing.assert_array_equal(dense[both], dense.T[both])
    monkeypatch.setattr(search_module, "CHUNK_ROWS", 41)
    pieces = kf.knn_graph(X, k=12)
    np.testing.assert_array_equal(whole.indices, pieces.indices)
    np.testing.assert_array_equal(whole.similarities, pieces.similarities)


@pytest.mark.parametrize("method", ["ivf", "hnsw"])
def test_approximate_search_reaches_the_recall_it_reports(method):
    X = clustered(4000, 16, centers=60)
    g = kf.knn_graph(X, k=10, method=method, recall=0.97).validate()
    truth = kf.knn_graph(X, k=10, method="exact")
    measured = np.mean([np.isin(t, f).mean() for f, t in zip(g.indices, truth.indices, strict=True)])
    assert g.method == method
    assert g.recall >= 0.97
    assert measured == pytest.approx(g.recall, abs=0.01)
    again = kf.knn_graph(X, k=10, method=method, recall=0.97)
    if method == "ivf":  # hnsw inserts from several threads, in no fixed order
        np.testing.assert_array_equal(g.indices, again.indices)


@pytest.mark.parametrize("external", [False, True])
def test_inverted_lists_find_what_a_scan_of_the_same_cells_finds(external):
    X = kf.features.unit_rows(clustered(900, 8))
    cells = Cells.build(X, seed=3)
    share, k = 0.7, 7
    search = IvfSearch.looking(cells, X, share, recall=0.0)
    queries = kf.features.unit_rows(clustered(40, 8, seed=5)) if external else X[:40]
    found = search.candidates(queries, np.full(40, -1) if external else np.arange(40), k)
    nearness = X @ cells.centroids.T
    looks = nearness >= share * nearness.max(axis=1, keepdims=True)
    own = nearness.argmax(axis=1)
    np.testing.assert_array_equal(own, cells.of_target)
    for query, candidates in zip(queries, found, strict=True):
        near = cells.centroids @ query
        met = np.flatnonzero((near >= share * near.max())[own] | looks[:, near.argmax()])
        best = met[np.argsort(-(X[met] @ query), kind="stable")[: found.shape[1]]]
        assert sorted(candidates[candidates >= 0]) == sorted(best)


def test_ivf_gives_way_to_exact_search_where_it_would_have_to_look_everywhere():
    X = np.random.default_rng(0).standard_normal((600, 64))  # no clusters at all: lists do not help
    g = kf.knn_graph(X, k=20, method="ivf", recall=1.0)
    assert g.method == "exact"
    assert g.recall == 1.0


def test_auto_is_exact_while_affordable_and_ivf_beyond(monkeypatch):
    X = clustered(3000, 8, centers=100)
    assert kf.knn_graph(X, k=5).method == "exact"
    monkeypatch.setattr(search_module, "EXACT_BUDGET", 1.0)
    assert kf.knn_graph(X, k=5, recall=0.9).method == "ivf"


def test_queries_keep_their_own_duplicates():
    X = clustered(80, 5)
    g = kf.knn_graph(X, k=3, queries=X[10:14])
    assert not g.square
    np.testing.assert_array_equal(g.indices[:, 0], [10, 11, 12, 13])
    order, _ = reference(X, 3, X[10:14])
    np.testing.assert_array_equal(g.indices, order)


def test_takes_tensors_feature_sets_memory_maps_and_integers(tmp_path):
    import torch

    X = np.random.default_rng(0).integers(1, 50, (40, 6))
    expected = kf.knn_graph(X, k=4).indices
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    kinds = [torch.tensor(X), torch.tensor(X, dtype=torch.bfloat16).float(), kf.FeatureSet(X), X.astype(np.float16)]
    for kind in [*kinds, np.load(tmp_path / "x.npy", mmap_mode="r"), X * 1e-30, X * 1e300]:
        np.testing.assert_array_equal(kf.knn_graph(kind, k=4).indices, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.__setitem__((3, 1), np.nan), "row 3 has NaN"),
        (lambda X: X.__setitem__((4, 0), np.inf), "row 4 has an infinite value"),
        (lambda X: X.__setitem__(slice(5, 7), 0), "row 5 is a zero vector \\(and 1 more"),
    ],
)
def test_bad_rows_are_named(change, message):
    X = np.ones((9, 2))
    change(X)
    with pytest.raises(kf.InputError, match=message):
        kf.knn_graph(X, k=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(k=9), "whole number from 1 to 8 for 9 rows, not 9"),
        (dict(k=0), "not 0"),
        (dict(k=2.0), "whole number"),
        (dict(k=True), "whole number"),
        (dict(k=2, method="annoy"), "one of auto, exact, ivf, hnsw"),
        (dict(k=2, recall=1.5), "recall"),
        (dict(k=2, queries=np.ones((2, 3))), "queries have 3 dimensions"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments, message):
    with pytest.raises(kf.InputError, match=message):
        kf.knn_graph(np.eye(9), **arguments)


class StopsAfter(ExactSearch):
    """An exact search that is killed after some chunks."""

    left = 2

    def candidates(self, queries, own_rows, k):
        StopsAfter.left -= 1
        if StopsAfter.left < 0:
            raise KeyboardInterrupt
        return super().candidates(queries, own_rows, k)


@pytest.mark.parametrize("name", ["graph.npz", "graph"])
def test_an_interrupted_search_continues_where_it_stopped(tmp_path, monkeypatch, name):
    X = clustered(500, 8)
    monkeypatch.setattr(search_module, "CHUNK_ROWS", 100)
    expected = kf.knn_graph(X, k=6)
    StopsAfter.left = 2
    with monkeypatch.context() as patch:
        patch.setattr(search_module, "ExactSearch", StopsAfter)
        with pytest.raises(KeyboardInterrupt):
            kf.knn_graph(X, k=6, out=tmp_path / name)
    assert not (tmp_path / name).exists()
    partial = tmp_path / f".{name}.partial"
    assert json.loads((partial / "progress.json").read_text())["done"] == 200
    counted = []
    original = ExactSearch.candidates
    monkeypatch.setattr(ExactSearch, "candidates", lambda s, q, o, k: counted.append(len(q)) or original(s, q, o, k))
    g = kf.knn_graph(X, k=6, out=tmp_path / name)
    assert counted == [100, 100, 100]
    np.testing.assert_array_equal(g.indices, expected.indices)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    with pytest.raises(kf.InputError, match="exists already"):
        kf.knn_graph(X, k=6, out=tmp_path / name)


def test_what_another_piece_of_work_left_is_not_continued(tmp_path, monkeypatch):
    X = clustered(300, 8)
    monkeypatch.setattr(search_module, "CHUNK_ROWS", 100)
    monkeypatch.setattr(search_module, "ExactSearch", StopsAfter)
    StopsAfter.left = 1
    with pytest.raises(KeyboardInterrupt):
        kf.knn_graph(X, k=6, out=tmp_path / "g")
    StopsAfter.left = 100
    Y = clustered(300, 8, seed=9)
    g = kf.knn_graph(Y, k=6, out=tmp_path / "g")
    np.testing.assert_array_equal(g.indices, kf.knn_graph(Y, k=6).indices)
    assert isinstance(g.indices, np.memmap)
