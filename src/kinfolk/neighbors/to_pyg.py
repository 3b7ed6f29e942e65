"""Adapter to PyTorch Geometric: the only module of this package that imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.extras import require
from kinfolk.features import Matrix, as_matrix

if TYPE_CHECKING:
    import torch_geometric.data


def to_pyg(
    indices: NDArray[np.int32], similarities: NDArray[np.float32], X: Matrix | None = None
) -> torch_geometric.data.Data:
    """Return the directed graph, edges from neighbour to row as messages flow; X becomes `x`.

    Shapes: indices (n, k), similarities (n, k), X (n, d)  ->  edge_index (2, n k), edge_attr (n k,), x (n, d).
    """
    data, torch = require("torch_geometric.data", extra="pyg"), require("torch", extra="pyg")
    n, k = indices.shape
    edges = np.stack([indices.ravel().astype(np.int64), np.repeat(np.arange(n), k)])
    return data.Data(
        x=None if X is None else torch.from_numpy(np.array(as_matrix(X), dtype=np.float32)),
        edge_index=torch.from_numpy(edges),
        edge_attr=torch.from_numpy(similarities.flatten()),
        num_nodes=n,
    )
