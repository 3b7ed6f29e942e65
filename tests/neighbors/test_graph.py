"""NeighborGraph: conversions, symmetry, files."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf


def graph(n=30, d=4, k=5, seed=0):
    return kf.knn_graph(np.random.default_rng(seed).standard_normal((n, d)), k)


def test_restricting_k_equals_searching_less_and_copies_nothing():
    X = np.random.default_rng(0).standard_normal((50, 6))
    g = kf.knn_graph(X, 9)
    small = g.restrict(4)
    np.testing.assert_array_equal(small.indices, kf.knn_graph(X, 4).indices)
    assert np.shares_memory(small.indices, g.indices)
    with pytest.raises(kf.InputError, match="between 1 and 9"):
        g.restrict(10)


@given(st.integers(3, 25), st.integers(0, 1000), st.booleans(), st.data())
@settings(deadline=None, max_examples=40)
def test_symmetric_against_sets_of_pairs(n, seed, orthogonal, data):
    k = data.draw(st.integers(1, n - 1))
    # unit axes have similarities of exactly zero, which sparse matrices like to lose
    X = (
        np.eye(n)[np.random.default_rng(seed).integers(0, n, n)]
        if orthogonal
        else np.random.default_rng(seed).random((n, 3))
    )
    g = kf.knn_graph(X, k)
    directed = {(i, int(j)) for i in range(n) for j in g.indices[i]}
    backward = {(j, i) for i, j in directed}
    for rule, expected in (("union", directed | backward), ("mutual", directed & backward)):
        matrix = g.symmetric(rule).tocoo()
        assert set(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)) == expected
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        np.testing.assert_allclose(matrix.data, np.einsum("ij,ij->i", unit[matrix.row], unit[matrix.col]), atol=1e-5)


def test_conversions_agree():
    g = graph()
    n_edges = g.symmetric("union").nnz // 2
    nx, ig = g.to_networkx(), g.to_igraph()
    assert nx.number_of_nodes() == ig.vcount() == len(g)
    assert nx.number_of_edges() == ig.ecount() == n_edges
    j = int(g.indices[0, 0])
    assert nx[0][j]["weight"] == pytest.approx(g.similarities[0, 0])
    assert ig.es[ig.get_eid(0, j)]["weight"] == pytest.approx(g.similarities[0, 0])
    X = np.ones((30, 2), dtype=np.float32)
    data = g.to_pyg(X)
    assert tuple(data.edge_index.shape) == (2, 150)
    np.testing.assert_array_equal(data.edge_index[0, :5], g.indices[0])
    assert (data.edge_index[1, :5] == 0).all()
    assert tuple(data.x.shape) == (30, 2)
    assert g.to_scipy()[0, j] == g.similarities[0, 0]


def test_a_missing_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(kf.MissingExtraError, match=r'pip install "kinfolk\[igraph\]"'):
        graph().to_igraph()


def test_a_query_graph_is_refused_where_it_makes_no_sense():
    g = kf.knn_graph(np.eye(4), 2, queries=np.eye(4)[:2])
    for use in (g.symmetric, g.to_networkx, g.to_pyg, lambda: kf.sim_m(g)):
        with pytest.raises(kf.InputError):
            use()


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
    X[7] = X[3]  # a duplicate: self need not stand first
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
    g = graph()
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
