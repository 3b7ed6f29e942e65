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
def test_an_interrupted_search_continues_where_it_stopped(clustered, tmp_path, monkeypatch, caplog, name):
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
    with caplog.at_level("INFO", logger="kinfolk"):
        g = kf.knn_graph(X, k=6, out=tmp_path / name)
    assert f"{tmp_path / name}: 200 of 500 rows are there already" in caplog.messages
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


def stopped_search(X, out, monkeypatch):
    """Leave a search after one of its chunks of 100 rows."""
    monkeypatch.setattr(search_module, "CHUNK_ROWS", 100)
    with monkeypatch.context() as patch:
        StopsAfter.left = 1
        patch.setattr(search_module, "ExactSearch", StopsAfter)
        with pytest.raises(KeyboardInterrupt):
            kf.knn_graph(X, k=6, out=out)
    return out.with_name(f".{out.name}.kinfolk") / "partial"


def test_finished_rows_stay_where_the_output_was_taken_meanwhile(clustered, tmp_path, monkeypatch):
    X, original = clustered(300, 8), ExactSearch.candidates

    def a_user_writes_there(search, queries, own_rows, k):
        (tmp_path / "g").mkdir(exist_ok=True)
        (tmp_path / "g" / "mine.txt").write_text("mine")
        return original(search, queries, own_rows, k)

    with monkeypatch.context() as patch:
        patch.setattr(ExactSearch, "candidates", a_user_writes_there)
        with pytest.raises(kf.InputError, match=r"mine.txt"):
            kf.knn_graph(X, k=6, out=tmp_path / "g")
    (tmp_path / "g").rename(tmp_path / "h")
    assert (tmp_path / "h" / "mine.txt").read_text() == "mine"
    monkeypatch.setattr(ExactSearch, "candidates", lambda *_: pytest.fail("a finished row is searched again"))
    g = kf.knn_graph(X, k=6, out=tmp_path / "g")
    monkeypatch.undo()
    np.testing.assert_array_equal(g.indices, kf.knn_graph(X, k=6).indices)


@pytest.mark.parametrize("row", [0, 1, 137, 299])
def test_one_changed_value_anywhere_starts_the_search_anew(clustered, tmp_path, monkeypatch, row):
    X = clustered(300, 8)
    stopped_search(X, tmp_path / "g", monkeypatch)
    X[row, 3] += 5.0
    g = kf.knn_graph(X, k=6, out=tmp_path / "g")
    np.testing.assert_array_equal(g.indices, kf.knn_graph(X, k=6).indices)


@pytest.mark.parametrize("name", ["indices.npy", "order.npy", "progress.json", ""])
def test_a_link_planted_in_unfinished_work_is_not_followed(clustered, tmp_path, monkeypatch, name):
    X = clustered(300, 8)
    partial = stopped_search(X, tmp_path / "g", monkeypatch)
    place = partial / name
    victim = tmp_path / "victim"
    place.rename(victim)
    place.symlink_to(victim)
    before = {p.name: p.read_bytes() for p in ([victim] if victim.is_file() else victim.iterdir()) if p.is_file()}
    g = kf.knn_graph(X, k=6, out=tmp_path / "g")
    np.testing.assert_array_equal(g.indices, kf.knn_graph(X, k=6).indices)
    after = {p.name: p.read_bytes() for p in ([victim] if victim.is_file() else victim.iterdir()) if p.is_file()}
    assert after == before


def test_an_archive_must_have_space_beside_the_work(clustered, tmp_path, monkeypatch):
    from kinfolk._core import disk

    free = 300 * 6 * 8 + 100_000  # enough for the rows, and for what is beside them, but not twice
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    X = clustered(300, 8)
    kf.knn_graph(X, k=6, out=tmp_path / "folder")
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 300 * 6 * 8 + 4096}))
    with pytest.raises(kf.DiskFullError, match="the disk is full"):
        kf.knn_graph(X, k=6, out=tmp_path / "g.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("progress.json", b"[" * 100_000), ("progress.json", b"{"), ("order.npy", b"\x93NUMPY"), ("indices.npy", b"")],
)
def test_what_was_left_damaged_is_begun_anew(clustered, tmp_path, monkeypatch, name, content):
    X = clustered(300, 8)
    monkeypatch.setattr(search_module, "CHUNK_ROWS", 100)
    monkeypatch.setattr(search_module, "ExactSearch", StopsAfter)
    StopsAfter.left = 1
    with pytest.raises(KeyboardInterrupt):
        kf.knn_graph(X, k=6, out=tmp_path / "g")
    (left,) = tmp_path.rglob(name)
    left.write_bytes(content)
    StopsAfter.left = 100
    g = kf.knn_graph(X, k=6, out=tmp_path / "g")
    np.testing.assert_array_equal(g.indices, kf.knn_graph(X, k=6).indices)


def test_an_order_that_is_no_list_of_rows_is_begun_anew(clustered, tmp_path, monkeypatch):
    X = clustered(300, 8)
    partial = stopped_search(X, tmp_path / "g", monkeypatch)
    np.save(partial / "order.npy", np.load(partial / "order.npy").astype(np.float64))  # cannot be an index
    g = kf.knn_graph(X, k=6, out=tmp_path / "g")
    np.testing.assert_array_equal(g.indices, kf.knn_graph(X, k=6).indices)
