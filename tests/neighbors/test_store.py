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
    partial = tmp_path / f".{name}.kinfolk" / "partial"
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
