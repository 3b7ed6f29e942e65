"""HAC: hierarchical agglomerative clustering, exact for few rows and on the neighbour graph for many."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy as scipy_hierarchy
from scipy.spatial.distance import squareform

from kinfolk._core.checks import check_choice, check_number, check_whole
from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.base import Clusterer, rows_of
from kinfolk.cluster._internal.hierarchy import Merges, count_above, cut, most_modular
from kinfolk.cluster._internal.linkage import LINKAGES, sparse_linkage
from kinfolk.features import Matrix, UnitRows
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity import sim_m

Linkage = Literal["average", "single", "complete"]
EXACT_ROWS = 5_000  # all pairs up to here: 12.5 million distances, 100 MB


class HAC(Clusterer):
    r"""Merge the two most similar clusters until a similarity or a number of clusters is reached.

    s(A, B): the largest ("single"), the mean ("average") or the smallest ("complete") cosine between their rows

    Parameters
    ----------
    n_clusters : number of clusters to stop at, or None.
    threshold : similarity to stop at; "auto": where modularity, weighted by Sim-M, is largest, without labels.
    linkage : "average", "single" or "complete".
    k : neighbours of each row: for more than 5,000 rows, and for a NeighborGraph, only the edges of the graph count and
        every other pair has similarity 0; also used by threshold="auto".
    max_size : no cluster gets larger.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size.
    merges_ : the whole hierarchy, most similar first.

    Memory: 8 n^2 bytes up to 5,000 rows (at most 200 MB); beyond, 100 bytes an edge of the graph.

    Examples
    --------
    >>> X = [[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]]
    >>> HAC(n_clusters=2).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(  # noqa: D107
        self,
        n_clusters: int | None = None,
        threshold: float | Literal["auto"] = "auto",
        linkage: Linkage = "average",
        k: int = 20,
        *,
        max_size: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.threshold = threshold
        self.linkage = linkage
        self.k = k
        self.max_size = max_size
        self.verbose = verbose

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        n = rows_of(X)
        if self.n_clusters is not None and self.n_clusters > n:
            raise InputError(f"n_clusters must lie between 1 and the {n} rows, not {self.n_clusters!r}")
        if isinstance(X, NeighborGraph) or n > EXACT_ROWS:
            self.merges_ = sparse_linkage(self._graph(X, self.k).symmetric("union"), self.linkage)
        else:
            unit = self._unit(X)
            if self.n_clusters is None and self.threshold == "auto":
                self._graph(UnitRows(unit), self.k)
            self.merges_ = exact_linkage(unit, self.linkage)
        return cut(self.merges_, n, self._count(n))

    def _count(self, n: int) -> int:
        """Return the number of merges up to the cut."""
        if self.n_clusters is not None:
            if n - len(self.merges_.left) > self.n_clusters:
                warnings.warn(
                    f"{n - len(self.merges_.left)} clusters have no edge between them, so {self.n_clusters} are not "
                    f"reached: choose a k above {self.k}",
                    stacklevel=4,
                )
            return min(n - self.n_clusters, len(self.merges_.left))
        if self.threshold != "auto":
            return count_above(self.merges_, self.threshold)
        return most_modular(self.merges_, self.graph_.indices, sim_m(self.graph_))  # type: ignore[union-attr,arg-type]

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("linkage", self.linkage, LINKAGES)
        check_whole("k", self.k)
        if self.n_clusters is not None:
            check_whole("n_clusters", self.n_clusters)
        check_number("threshold", self.threshold, auto=True)
        if self.n_clusters is not None and self.threshold != "auto":
            raise InputError("give n_clusters or a threshold, not both")


def exact_linkage(unit: NDArray[np.float32], linkage: Linkage) -> Merges:
    """Return the n - 1 merges of unit rows by all their cosines.

    >>> exact_linkage(np.eye(3, dtype=np.float32), "single").similarity
    array([0., 0.], dtype=float32)
    """
    return dense_linkage(unit.astype(np.float64) @ unit.T, linkage)


def dense_linkage(similarities: NDArray[np.float64], linkage: Linkage) -> Merges:
    """Return the n - 1 merges of n rows by a matrix of their similarities, (n, n), symmetric; its diagonal is not read.

    >>> dense_linkage(np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]]), "single").similarity
    array([0.9, 0.2], dtype=float32)
    """
    n = len(similarities)
    distances = 1.0 - similarities
    np.fill_diagonal(distances, 0.0)
    found = scipy_hierarchy.linkage(squareform(distances, checks=False), linkage)
    # scipy numbers clusters n, n + 1, ...; here a cluster is named by any of its rows
    row = np.concatenate([np.arange(n), np.empty(len(found), dtype=np.int64)])
    for merge, (a, _) in enumerate(found[:, :2].astype(np.int64)):
        row[n + merge] = row[a]
    left, right = row[found[:, :2].astype(np.int64)].astype(np.int32).T
    return Merges(left, right, (1.0 - found[:, 2]).astype(np.float32))
