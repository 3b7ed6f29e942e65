"""The conversion to igraph."""

import sys

import numpy as np
import pytest

import kinfolk as kf


def test_nodes_edges_and_weights_are_those_of_the_symmetric_graph():
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((30, 4)), 5)
    matrix = g.symmetric("union")
    found = g.to_igraph()
    assert found.vcount() == 30
    assert found.ecount() == matrix.nnz // 2
    for edge in found.es:
        assert edge["weight"] == pytest.approx(matrix[edge.source, edge.target])


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(kf.MissingExtraError, match=r'pip install "kinfolk\[leiden\]"'):
        kf.knn_graph(np.eye(3), 1).to_igraph()
