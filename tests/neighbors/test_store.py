"""Graphs on disk, and searches that are interrupted."""

import json

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.neighbors import search as search_module
from kinfolk.neighbors.exact import ExactSearch


@pytest.mark.parametrize("name", ["g.npz", "folder"])
@pytest.mark.parametrize("queries", [None, np.eye(4)[:3]])
def test_round_trip(tmp_path, name, queries):
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((20, 4)), 5, queries=queries)
    g.save(tmp_path / name)
    back = kf.NeighborGraph.load(tmp_path / name)
    np.testing.assert_array_equal(back.indices, g.indices)
    np.testing.assert_array_equal(back.similarities, g.similarities)
    facts = ("n_targets", "method", "recall", "square")
    assert [getattr(back, f) for f in facts] == [getattr(g, f) for f in facts]
    with pytest.raises(kf.InputError, match="exists already"):
        g.save(tmp_path / name)
    g.save(tmp_path / name, force=True)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_learn_to_cluster_files_with_and_without_self(tmp_path):
    X = np.random.default_rng(1).standard_normal((15, 4)).astype(np.float32)
    X[7] = X[3]  # a duplicate: self need not come first
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = unit @ unit.T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :6]
    data = np.stack([order, 1 - np.take_along_axis(cosines, order, axis=1)], axis=1)
    np.savez_compressed(tmp_path / "faiss_k_6.npz", data=data)
    g = kf.NeighborGraph.load(tmp_path / "faiss_k_6.npz")
    expected = kf.knn_graph(X, 5)
    np.testing.assert_allclose(g.similarities, expected.similarities, atol=1e-5)
    np.testing.assert_array_equal(g.indices, expected.indices)
    assert g.recall is None


def test_damaged_and_wrong_files_get_one_sentence(tmp_path):
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((30, 4)), 5)
    g.save(tmp_path / "g.npz")
    whole = (tmp_path / "g.npz").read_bytes()
    for cut in range(0, len(whole), 97):
        (tmp_path / "cut.npz").write_bytes(whole[:cut])
        with pytest.raises(kf.InputError, match=r"cut\.npz"):
            kf.NeighborGraph.load(tmp_path / "cut.npz")
    np.savez(tmp_path / "other.npz", features=np.eye(3))
    np.savez(tmp_path / "object.npz", indices=np.array([[None]]), similarities=np.eye(1), n_targets=1)
    np.savez(tmp_path / "range.npz", indices=np.full((3, 1), 3), similarities=np.ones((3, 1)), n_targets=3)
    np.savez(tmp_path / "own.npz", indices=np.arange(3)[:, None], similarities=np.ones((3, 1)), n_targets=3)
    np.savez(tmp_path / "order.npz", indices=[[1, 2], [0, 2], [0, 1]], similarities=[[0.1, 0.2]] * 3, n_targets=3)
    np.savez(tmp_path / "knn.npz", data=np.zeros((3, 3, 3)))
    (tmp_path / "empty").mkdir()
    expected = {
        "missing.npz": "does not exist",
        "other.npz": "indices, n_targets, similarities is missing",
        "object.npz": "damaged|object",
        "range.npz": r"row 0 has a neighbour outside 0\.\.2",
        "own.npz": "row 0 has itself as a neighbour",
        "order.npz": "row 0 has neighbours that are not sorted",
        "knn.npz": r"shape \(n, 2, k\)",
        "empty": "graph.json is missing",
    }
    for name, message in expected.items():
        with pytest.raises(kf.InputError, match=message):
            kf.NeighborGraph.load(tmp_path / name)


class StopsAfter(ExactSearch):
    """An exact search that is killed after some chunks."""

    left = 2

    def candidates(self, queries, own_rows, k):
        StopsAfter.left -= 1
        if StopsAfter.left < 0:
            raise KeyboardInterrupt
        return super().candidates(queries, own_rows, k)


@pytest.mark.parametrize("name", ["graph.npz", "graph"])
def test_an_interrupted_search_continues_where_it_stopped(clustered, tmp_path, monkeypatch, name):
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


def test_what_another_piece_of_work_left_is_not_continued(clustered, tmp_path, monkeypatch):
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
