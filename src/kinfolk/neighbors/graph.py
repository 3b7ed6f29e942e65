"""NeighborGraph: for each row its k nearest neighbours, best first."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinfolk._core.checks import check_choice, is_whole
from kinfolk._core.errors import InputError
from kinfolk.features import Matrix
from kinfolk.formats._common import reading
from kinfolk.neighbors._store import GraphFields, write_graph
from kinfolk.neighbors.to_igraph import to_igraph
from kinfolk.neighbors.to_networkx import to_networkx
from kinfolk.neighbors.to_pyg import to_pyg

if TYPE_CHECKING:
    import igraph
    import networkx
    import torch_geometric.data

VALIDATED_BYTES = 16 << 20  # rows are validated in blocks of about this size, so that a memory map stays on disk


@dataclass(frozen=True, eq=False, repr=False)
class NeighborGraph:
    """The k nearest neighbours of each row by cosine similarity; a row is never its own neighbour.

    Parameters
    ----------
    indices : (n, k) int32, the neighbours of each row from the most to the least similar, the lower row number first
        among equals; in memory or memory-mapped.
    similarities : (n, k) float32, aligned with `indices`.
    n_targets : number of rows that can be neighbours: n itself, or the size of the reference where the rows are
        `queries` against it.
    method : the search that found the neighbours; "given" for a graph read from elsewhere.
    recall : share of the true neighbours found, measured on a sample; 1.0 for exact search, None where unknown.
    square : whether the rows are their own targets; False for queries against a reference.

    Examples
    --------
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
        if not is_whole(k) or k > self.k:
            raise InputError(f"k must lie between 1 and {self.k}, the neighbours this graph has, not {k}")
        return replace(self, indices=self.indices[:, :k], similarities=self.similarities[:, :k])

    def validate(self) -> NeighborGraph:
        """Check every row: numbers in range, self absent, no neighbour twice, finite, best first."""
        step = max(1, VALIDATED_BYTES // max(8 * self.k, 1))
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
                    raise InputError(f"row {start + int(np.argmax(where.any(axis=1)))} has {fault}")
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

        Parameters
        ----------
        rule : "union": an edge where i is a neighbour of j or j of i; "mutual": where both are.

        Returns
        -------
        (n, n) symmetric matrix; explicit zeros are edges.

        Examples
        --------
        >>> import kinfolk as kf
        >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.3]], k=1)
        >>> g.symmetric("union").nnz, g.symmetric("mutual").nnz
        (4, 2)
        """
        self._must_be_square("made symmetric")
        check_choice("rule", rule, ("union", "mutual"))
        edges = self.to_scipy()
        # combined by position instead of by value: scipy would drop edges whose similarity is exactly zero
        position = sparse.csr_array((np.arange(1, edges.nnz + 1), edges.indices, edges.indptr), shape=edges.shape)
        other = position.T.tocsr()
        chosen = position.maximum(other) if rule == "union" else position.minimum(other)
        chosen.sort_indices()
        return sparse.csr_array((edges.data[chosen.data - 1], chosen.indices, chosen.indptr), shape=edges.shape)

    def to_networkx(self) -> networkx.Graph:
        """Return an undirected networkx graph, every row a node, the similarity of an edge as its weight."""
        return to_networkx(self.symmetric("union"))

    def to_igraph(self) -> igraph.Graph:
        """Return an undirected igraph graph with edge weights (igraph is GPL: the extra `leiden` brings it)."""
        return to_igraph(self.symmetric("union"))

    def to_pyg(self, X: Matrix | None = None) -> torch_geometric.data.Data:
        """Return PyTorch Geometric data: edges point from neighbour to row, as messages flow; X becomes `x`."""
        self._must_be_square("converted to PyTorch Geometric")
        return to_pyg(self.indices, self.similarities, X)

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write to one `.npz` file, or to a folder that opens memory-mapped (a name without a suffix)."""
        write_graph(self.fields(), path, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NeighborGraph:
        """Read what `save` wrote, or a learn-to-cluster kNN file: an `.npz` of shape (n, 2, k) with distances.

        Every row is checked in one pass, block after block: a tenth of a second for 16 million edges that are cached.
        """
        from kinfolk.neighbors._read_graph import read_graph  # with pydantic, which takes long to import

        fields = read_graph(path)
        with reading(Path(path), "a graph"):
            return cls(**fields).validate()

    def fields(self) -> GraphFields:
        """Return what a file of the graph holds, by name."""
        return GraphFields(
            indices=self.indices,
            similarities=self.similarities,
            n_targets=self.n_targets,
            method=self.method,
            recall=self.recall,
            square=self.square,
        )

    def _must_be_square(self, what: str) -> None:
        if not self.square:
            raise InputError(f"a graph of queries against other rows cannot be {what}: its two sides differ")
