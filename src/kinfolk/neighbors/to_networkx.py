"""Adapter to networkx: the only module that imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk._core.extras import require

if TYPE_CHECKING:
    import networkx
    from scipy import sparse


def to_networkx(edges: sparse.csr_array) -> networkx.Graph:
    """Return the undirected networkx graph of a symmetric (n, n) matrix of similarities, which become weights.

    >>> from scipy import sparse
    >>> to_networkx(sparse.csr_array([[0, 0.5], [0.5, 0]])).number_of_edges()
    1
    """
    return require("networkx", extra="networkx").from_scipy_sparse_array(edges)
