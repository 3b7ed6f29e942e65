"""Graph files that are read: damaged ones, and those of learn-to-cluster."""

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
