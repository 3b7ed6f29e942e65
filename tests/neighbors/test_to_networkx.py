"""The conversion to networkx."""

import sys

import numpy as np
import pytest

import kinfolk as kf


def test_nodes_edges_and_weights_are_those_of_the_symmetric_graph():
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((30, 4)), 5)
    matrix = g.symmetric("union")
    found = g.to_networkx()
    assert found.number_of_nodes() == 30
    assert found.number_of_edges() == matrix.nnz // 2
    for i, j, weight in found.edges(data="weight"):
        assert weight == matrix[i, j]


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(kf.MissingExtraError, match=r'pip install "kinfolk\[networkx\]"'):
        kf.knn_graph(np.eye(3), 1).to_networkx()
