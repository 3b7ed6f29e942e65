"""Graph files that are read: damaged ones, and those of learn-to-cluster."""

import json

import numpy as np
import pytest

import kinfolk as kf


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
        "other.npz": "not a graph: indices, n_targets, similarities is missing",
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


INDICES = np.array([[1, 2], [0, 2], [0, 1]])
SIMILARITIES = np.array([[0.9, 0.5], [0.9, 0.4], [0.5, 0.4]], dtype=np.float32)
FACTS = dict(n_targets=3, method="exact", recall=1.0, square=True, version=1)


def changed(array, value):
    array = array.copy()
    array[0, 0] = value
    return array


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(indices=INDICES[:, :0], similarities=SIMILARITIES[:, :0]), "one neighbour or more"),
        (dict(indices=INDICES[:0], similarities=SIMILARITIES[:0]), "one neighbour or more"),
        (dict(indices=INDICES[:, :1]), "must both have the shape"),
        (dict(indices=INDICES.astype(float)), "whole-number indices"),
        (dict(indices=changed(INDICES, 2**32 + 1)), r"outside 0\.\.2"),
        (dict(indices=changed(INDICES.astype(np.uint64), 2**64 - 1)), r"outside 0\.\.2"),
        (dict(indices=changed(INDICES, -1)), r"outside 0\.\.2"),
        (dict(similarities=changed(SIMILARITIES, np.inf)), "row 0 has a similarity that is not a number from -1 to 1"),
        (dict(similarities=changed(SIMILARITIES, np.nan)), "row 0 has a similarity that is not a number from -1 to 1"),
        (dict(similarities=changed(SIMILARITIES.astype(float), 1e300)), "row 0 has a similarity"),
        (dict(n_targets=0), "n_targets must be greater than or equal to 1, not 0"),
        (dict(n_targets=2**40), "n_targets must be less than or equal to 2147483647"),
        (dict(n_targets=4), "a graph over its own rows needs 4"),
        (dict(n_targets=np.inf), "n_targets must be a valid integer, not inf"),
        (dict(n_targets=np.array([3, 3])), "n_targets must be one value"),
        (dict(recall=7.5), "recall must be less than or equal to 1, not 7.5"),
        (dict(recall=0.0), "recall must be greater than 0, not 0.0"),
        (dict(recall=np.nan), "recall must be"),
        (dict(square=3), "square must be a valid boolean, not 3"),
        (dict(method="m" * 99), "method String should have at most 64"),
        (dict(version=2), "newer kinfolk"),
    ],
)
@pytest.mark.parametrize("form", ["npz", "folder"])
def test_garbage_is_refused(tmp_path, form, changes, message):
    content = {"indices": INDICES, "similarities": SIMILARITIES, **FACTS, **changes}
    path = tmp_path / ("g.npz" if form == "npz" else "g")
    if form == "npz":
        np.savez(path, **content)
    else:
        if isinstance(content["n_targets"], np.ndarray):
            pytest.skip("only an array has a shape")
        path.mkdir()
        for name in ("indices", "similarities"):
            np.save(path / f"{name}.npy", content.pop(name))
        (path / "graph.json").write_text(json.dumps(content))
    if form == "folder" and not all(np.isfinite(v) for v in content.values() if isinstance(v, float)):
        message = "not a number of JSON"
    with pytest.raises(kf.InputError, match=message) as caught:
        kf.NeighborGraph.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("{}", "n_targets is missing"),
        ('{"n_targets": Infinity}', "Infinity is not a number"),
        ('{"n_targets": 1e400}', "n_targets must be"),
        ("[" * 50_000, "nested too deep"),
        ("3", "must be a valid dictionary"),
        (" " * 70_000, "bytes of JSON"),
    ],
)
def test_damaged_facts_of_a_folder(tmp_path, facts, message):
    kf.NeighborGraph(INDICES.astype(np.int32), SIMILARITIES, 3).save(tmp_path / "g")
    (tmp_path / "g" / "graph.json").write_text(facts)
    with pytest.raises(kf.InputError, match=message):
        kf.NeighborGraph.load(tmp_path / "g")


def test_a_folder_whose_header_promises_more_than_the_file(tmp_path):
    kf.NeighborGraph(INDICES.astype(np.int32), SIMILARITIES, 3).save(tmp_path / "g")
    with (tmp_path / "g" / "indices.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<i4", "fortran_order": False, "shape": (10**12, 2)})
    with pytest.raises(kf.InputError, match=r"indices\.npy: indices is truncated"):
        kf.NeighborGraph.load(tmp_path / "g")


def test_folders_open_memory_mapped_and_whole_numbers_of_any_width_are_read(tmp_path):
    g = kf.NeighborGraph(INDICES.astype(np.int32), SIMILARITIES, 3, "exact", 0.5)
    g.save(tmp_path / "g")
    read = kf.NeighborGraph.load(tmp_path / "g")
    assert isinstance(read.indices, np.memmap) and isinstance(read.similarities, np.memmap)
    assert (read.recall, read.method, read.square) == (0.5, "exact", True)
    for dtype in (np.uint8, np.int64, np.uint64, ">i4"):
        np.savez_compressed(tmp_path / "w.npz", indices=INDICES.astype(dtype), similarities=SIMILARITIES, n_targets=3)
        wide = kf.NeighborGraph.load(tmp_path / "w.npz")
        assert wide.indices.dtype == np.int32
        np.testing.assert_array_equal(wide.indices, INDICES)


@pytest.mark.parametrize(
    ("neighbor", "distance", "message"),
    [
        (0.5, 0.1, "whole numbers"),
        (np.nan, 0.1, "whole numbers"),
        (np.inf, 0.1, "whole numbers"),
        (1e30, 0.1, r"outside 0\.\.2"),
        (1, np.inf, "finite"),
        (1, np.nan, "finite"),
    ],
)
def test_garbage_of_learn_to_cluster(tmp_path, neighbor, distance, message):
    data = np.stack([INDICES, 1 - SIMILARITIES.astype(float)], axis=1)
    data[0, 0, 0], data[0, 1, 0] = neighbor, distance
    np.savez(tmp_path / "k.npz", data=data)
    with pytest.raises(kf.InputError, match=message):
        kf.NeighborGraph.load(tmp_path / "k.npz")
