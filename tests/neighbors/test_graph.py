"""NeighborGraph: conversions, symmetry, files."""

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


def test_a_query_graph_is_refused_where_it_makes_no_sense():
    g = kf.knn_graph(np.eye(4), 2, queries=np.eye(4)[:2])
    for use in (g.symmetric, g.to_networkx, g.to_pyg, lambda: kf.sim_m(g)):
        with pytest.raises(kf.InputError):
            use()
