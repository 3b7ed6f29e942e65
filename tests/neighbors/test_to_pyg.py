"""The conversion to PyTorch Geometric."""

import sys

import numpy as np
import pytest

import kinfolk as kf


@pytest.mark.slow  # torch_geometric takes seconds to import
def test_edges_point_from_neighbour_to_row():
    X = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    g = kf.knn_graph(X, 5)
    data = g.to_pyg(X)
    assert data.num_nodes == 30
    assert data.edge_index.tolist() == [g.indices.ravel().tolist(), np.repeat(np.arange(30), 5).tolist()]
    np.testing.assert_array_equal(data.edge_attr, g.similarities.ravel())
    np.testing.assert_array_equal(data.x, X)
    assert g.to_pyg().x is None


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(kf.MissingExtraError, match=r'pip install "kinfolk\[pyg\]"'):
        kf.knn_graph(np.eye(3), 1).to_pyg()
