"""Adapter to igraph, which is GPL and therefore an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from kinfolk._core.extras import require

if TYPE_CHECKING:
    import igraph


def to_igraph(edges: sparse.csr_array) -> igraph.Graph:
    """Return the undirected igraph graph of a symmetric (n, n) matrix of similarities, which become weights.

    >>> to_igraph(sparse.csr_array([[0, 0.5], [0.5, 0]])).ecount()
    1
    """
    upper = sparse.triu(edges, k=1).tocoo()
    pairs = np.stack([upper.row, upper.col], axis=1)
    return require("igraph", extra="leiden").Graph(n=edges.shape[0], edges=pairs, edge_attrs={"weight": upper.data})
