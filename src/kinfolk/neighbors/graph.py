"""NeighborGraph: for each row its k nearest neighbours, best first."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinfolk._core.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import igraph
    import networkx
    import torch_geometric.data


@dataclass(frozen=True, eq=False, repr=False)
class NeighborGraph:
    """The k nearest neighbours of each row by cosine similarity; a row is never its own neighbour.

    Shapes: indices (n, k) int32, similarities (n, k) float32, both in memory or memory-mapped; each row falls from the
    most to the least similar, the lower row number first among equals. `n_targets` is the number of rows that can be
    neighbours: n itself, or the size of the reference when the rows are `queries` against it. `recall` is the share
    of the true neighbours found, measured on a sample (1.0 for exact search, None for a graph read from elsewhere).

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=2)
    >>> g
    NeighborGraph(4 rows, k=2, exact, recall 1.0)
    >>> g.indices[:, 0]
    array([1, 0, 3, 2], dtype=int32)
    """

    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]
    n_targets: int
    method: str = "given"
    recall: float | None = None
    square: bool = True

    def __post_init__(self) -> None:
        if self.indices.ndim != 2 or self.indices.shape != self.similarities.shape:
            raise InputError(
                "indices and similarities must both have the shape (n, k), not "
                f"{self.indices.shape} and {self.similarities.shape}"
            )
        if self.square and len(self.indices) != self.n_targets:
            raise InputError(f"a graph over its own rows needs {self.n_targets} of them, not {len(self.indices)}")

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def k(self) -> int:
        """Number of neighbours of each row."""
        return int(self.indices.shape[1])

    def __repr__(self) -> str:
        rows = f"{len(self):,} rows" if self.square else f"{len(self):,} queries against {self.n_targets:,} rows"
        recall = "unknown" if self.recall is None else f"{self.recall:.4f}" if self.recall < 1 else "1.0"
        return f"NeighborGraph({rows}, k={self.k}, {self.method}, recall {recall})"

    def restrict(self, k: int) -> NeighborGraph:
        """Return the graph of the k best neighbours: a view, nothing is copied or searched."""
        if not 1 <= k <= self.k:
            raise InputError(f"k must lie between 1 and {self.k}, the neighbours this graph has, not {k}")
        return replace(self, indices=self.indices[:, :k], similarities=self.similarities[:, :k])

    def validate(self) -> NeighborGraph:
        """Check every row: numbers in range, self absent, no neighbour twice, finite, best first."""
        step = max(1, (16 << 20) // (8 * self.k))
        for start in range(0, len(self), step):
            indices, similarities = self.indices[start : start + step], self.similarities[start : start + step]
            in_order = np.sort(indices, axis=1)
            faults = {
                f"a neighbour outside 0..{self.n_targets - 1}": (indices < 0) | (indices >= self.n_targets),
                "itself as a neighbour": (indices == np.arange(start, start + len(indices))[:, None]) & self.square,
                "a neighbour twice": in_order[:, 1:] == in_order[:, :-1],
                "a similarity that is not a number from -1 to 1": ~(np.abs(similarities) <= 1 + 1e-3),
                "neighbours that are not sorted, best first": np.diff(similarities, axis=1) > 0,
            }
            for fault, where in faults.items():
                if where.any():
                    raise InputError(f"graph: row {start + int(np.argmax(where.any(axis=1)))} has {fault}")
        return self

    def to_scipy(self) -> sparse.csr_array:
        """Return the (n, n_targets) sparse matrix of similarities; explicit zeros are kept, they are edges."""
        starts = np.arange(len(self) + 1, dtype=np.int64) * self.k
        columns, values = self.indices.flatten(), self.similarities.flatten()  # copies: they are sorted in place next
        matrix = sparse.csr_array((values, columns, starts), shape=(len(self), self.n_targets))
        matrix.sort_indices()
        return matrix

    def symmetric(self, rule: Literal["union", "mutual"] = "union") -> sparse.csr_array:
        """Return the undirected graph as an (n, n) sparse matrix of similarities.

        union: an edge where i is a neighbour of j or j of i; mutual: where both are.

        >>> import kinfolk as kf
        >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.3]], k=1)
        >>> g.symmetric("union").nnz, g.symmetric("mutual").nnz
        (4, 2)
        """
        self._must_be_square("made symmetric")
        if rule not in ("union", "mutual"):
            raise InputError(f"rule must be 'union' or 'mutual', not {rule!r}")
        edges = self.to_scipy()
        # combined by position instead of by value: scipy would drop edges whose similarity is exactly zero
        position = sparse.csr_array((np.arange(1, edges.nnz + 1), edges.indices, edges.indptr), shape=edges.shape)
        other = position.T.tocsr()
        chosen = position.maximum(other) if rule == "union" else position.minimum(other)
        chosen.sort_indices()
        return sparse.csr_array((edges.data[chosen.data - 1], chosen.indices, chosen.indptr), shape=edges.shape)

    def to_networkx(self) -> networkx.Graph:
        """Return an undirected networkx graph, every row a node, the similarity of an edge as its weight."""
        nx = _extra("networkx", "networkx", "networkx")
        return nx.from_scipy_sparse_array(self.symmetric("union"))

    def to_igraph(self) -> igraph.Graph:
        """Return an undirected igraph graph with edge weights (igraph is GPL: an extra)."""
        ig = _extra("igraph", "igraph", "igraph")
        upper = sparse.triu(self.symmetric("union"), k=1).tocoo()
        edges = np.stack([upper.row, upper.col], axis=1)
        return ig.Graph(n=len(self), edges=edges, edge_attrs={"weight": upper.data})

    def to_pyg(self, X: Any = None) -> torch_geometric.data.Data:
        """Return PyTorch Geometric data: edges point from neighbour to row, as messages flow; X becomes `x`."""
        data = _extra("torch_geometric.data", "pyg", "torch-geometric")
        import torch

        from kinfolk.features import as_matrix

        self._must_be_square("given to PyTorch Geometric")
        rows = np.repeat(np.arange(len(self)), self.k)
        edges = np.stack([self.indices.flatten().astype(np.int64), rows])
        weights = torch.from_numpy(self.similarities.flatten())
        x = None if X is None else torch.from_numpy(np.array(as_matrix(X), dtype=np.float32))
        return data.Data(x=x, edge_index=torch.from_numpy(edges), edge_attr=weights, num_nodes=len(self))

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write to one `.npz` file, or to a folder that opens memory-mapped (a name without a suffix)."""
        from kinfolk.neighbors._store import save_graph

        save_graph(self, path, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NeighborGraph:
        """Read what `save` wrote, or a learn-to-cluster kNN file: an `.npz` of shape (n, 2, k) with distances."""
        from kinfolk.neighbors._store import load_graph

        return load_graph(path)

    def _must_be_square(self, what: str) -> None:
        if not self.square:
            raise InputError(f"a graph of queries against other rows cannot be {what}: its two sides differ")


def _extra(module: str, extra: str, package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(extra, package) from error
