"""What every clusterer shares: input, labels by size, new items, a size limit, a summary."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numba as nb
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.size_limit import take_apart
from kinfolk.features import Matrix, as_matrix, blocks, check_rows, unit_rows
from kinfolk.neighbors import NeighborGraph, knn_graph

VOTERS = 5
LIMIT_K = 20  # neighbours by which a cluster above the size limit is taken apart when the method has no graph


@dataclass(frozen=True, eq=False)
class Summary:
    """A clustering in a few numbers.

    `sizes` (clusters,) falls; `largest_share` is the part of all rows that the largest cluster has. `tightness` is the
    mean cosine of a row to the mean of its cluster, over clusters of two and more; None without features.
    """

    rows: int
    clusters: int
    singletons: int
    noise: int
    sizes: NDArray[np.int64]
    largest_share: float
    tightness: float | None

    def __str__(self) -> str:
        sizes = self.sizes
        facts = {
            "rows": f"{self.rows:,}",
            "clusters": f"{self.clusters:,}",
            "singletons": f"{self.singletons:,}",
            "noise": f"{self.noise:,}",
            "largest": f"{sizes[0] if len(sizes) else 0:,} ({self.largest_share:.1%} of all rows)",
            "median size": f"{np.median(sizes) if len(sizes) else 0:g}",
            "tightness": "unknown" if self.tightness is None else f"{self.tightness:.3f}",
        }
        return "\n".join(f"{name:<12} {value}" for name, value in facts.items())


class Clusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the clusterers: a subclass stores its settings and writes `_cluster`.

    fit takes features (n, d), as an array, a torch tensor or a FeatureSet, or a NeighborGraph where the method works on
    a graph. `labels_` (n,) are numbered by falling size, -1 is noise where a method has noise; `n_clusters_`; `graph_`
    the neighbour graph, where one was used; `features_` what was given, not a copy.

    `max_size`: no cluster gets larger. One that would is taken apart and joined again along its neighbour edges, best
    first, every join that would pass the limit left out.
    """

    max_size: int | None = None

    @abstractmethod
    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        """Return any number for each cluster, below zero for noise."""

    def fit(self, X: Matrix | NeighborGraph, y: Any = None) -> Self:
        """Cluster the rows; y is not used."""
        self._check_size_limit()
        self.graph_: NeighborGraph | None = None
        self.features_: NDArray[Any] | None = None
        if isinstance(X, NeighborGraph):
            X._must_be_square("clustered")
        else:
            self.features_ = as_matrix(X)
            self.n_features_in_ = self.features_.shape[1]
            for start, block in blocks(self.features_):
                check_rows(block, start)
        labels = by_size(self._cluster(X) if rows_of(X) > 1 else np.zeros(1, dtype=np.int64))
        if self.max_size is not None and rows_of(X) > 1:
            labels = by_size(self._limited(labels, self.max_size))
        self.labels_ = labels
        self.n_clusters_ = int(labels.max(initial=-1)) + 1
        return self

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Return the clusters of new items: a vote of their 5 nearest fitted rows, weighted by cosine.

        Noise does not vote, nor do rows that the method itself would not join; -1 where nobody votes.
        """
        check_is_fitted(self, "labels_")
        if self.features_ is None:
            raise InputError("new items are compared with features: fit on features instead of a graph to predict")
        g = knn_graph(self.features_, min(VOTERS, len(self.features_)), queries=X, show_progress=False)
        votes = self.labels_[g.indices]
        weights = np.maximum(g.similarities, 1e-6) * ((votes >= 0) & (g.similarities >= self._least_similarity()))
        support = np.stack([(weights * (votes == votes[:, [a]])).sum(axis=1) for a in range(g.k)], axis=1)
        support *= weights > 0
        winner = np.take_along_axis(votes, support.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(support.max(axis=1) > 0, winner, -1)

    def _least_similarity(self) -> float:
        """Return the cosine below which the method would not join a new item to a row."""
        return -1.0

    def summary(self) -> Summary:
        """Return sizes, singletons, the share of the largest cluster, and how tight clusters are.

        >>> from kinfolk.cluster import GCut
        >>> print(GCut(k=2, threshold=0.9).fit([[1, 0.0], [1, 0.1], [0, 1.0]]).summary())
        rows         3
        clusters     2
        singletons   1
        noise        0
        largest      2 (66.7% of all rows)
        median size  1.5
        tightness    0.999
        """
        check_is_fitted(self, "labels_")
        return summary(self.labels_, self.features_)

    def _graph(self, X: Matrix | NeighborGraph, k: int) -> NeighborGraph:
        """Return the graph of the k nearest neighbours, or of all there are: a given one, else a new one."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise InputError(f"k must be a whole number of neighbours, 1 or more, not {k!r}")
        if isinstance(X, NeighborGraph):
            self.graph_ = X.restrict(min(k, X.k))
        else:
            self.graph_ = knn_graph(X, min(k, rows_of(X) - 1))
        return self.graph_

    def _unit(self, X: Matrix | NeighborGraph) -> NDArray[np.float32]:
        if isinstance(X, NeighborGraph):
            raise InputError(f"{type(self).__name__} works on the vectors themselves: give it features, not a graph")
        return unit_rows(X)

    def _limited(self, labels: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
        if np.bincount(labels[labels >= 0], minlength=1).max() <= max_size:
            return labels
        g = self.graph_
        if g is None:
            g = knn_graph(self.features_, min(LIMIT_K, len(labels) - 1))  # type: ignore[arg-type]
        return take_apart(labels, g, max_size)

    def _check_size_limit(self) -> None:
        if self.max_size is not None and not self.max_size >= 1:
            raise InputError(f"max_size must be 1 or more, or None for no limit, not {self.max_size!r}")


def rows_of(X: Matrix | NeighborGraph) -> int:
    """Return how many rows are to be clustered.

    >>> rows_of([[1.0, 0.0], [0.0, 1.0]])
    2
    """
    return len(X) if isinstance(X, NeighborGraph) else len(as_matrix(X))


def by_size(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number clusters by falling size, the one with the lower first row first among equals; noise becomes -1.

    >>> by_size(np.array([7, 3, 3, -2, 9]))
    array([ 1,  0,  0, -1,  2])
    """
    result = np.full(len(labels), -1, dtype=np.int64)
    known = labels >= 0
    _, first, inverse, counts = np.unique(labels[known], return_index=True, return_inverse=True, return_counts=True)
    place = np.empty(len(counts), dtype=np.int64)
    place[np.lexsort((first, -counts))] = np.arange(len(counts))
    result[known] = place[inverse]
    return result


def summary(labels: NDArray[np.integer], X: Matrix | None = None) -> Summary:
    """Return the summary of labels, with the tightness where features are given.

    >>> summary(np.array([0, 0, 1, -1])).singletons
    1
    """
    numbers = by_size(np.asarray(labels))
    noise = int(np.count_nonzero(numbers < 0))
    sizes = np.bincount(numbers[numbers >= 0])
    largest = float(sizes[0] / len(numbers)) if len(sizes) else 0.0
    tightness = None if X is None else _tightness(numbers, as_matrix(X), sizes)
    return Summary(len(numbers), len(sizes), int(np.count_nonzero(sizes == 1)), noise, sizes, largest, tightness)


def _tightness(labels: NDArray[np.int64], matrix: NDArray[Any], sizes: NDArray[np.int64]) -> float | None:
    # <x_i, m / |m|> summed over a cluster is the length of the sum of its rows
    joined = int(np.count_nonzero(sizes >= 2))
    if joined == 0:
        return None
    sums = np.zeros((joined, matrix.shape[1]), dtype=np.float64)
    for start, block in blocks(matrix):
        _add_rows(sums, labels[start : start + len(block)], unit_rows(block))
    return float(np.linalg.norm(sums, axis=1).sum() / sizes[:joined].sum())


@nb.njit(cache=True)
def _add_rows(sums: NDArray[np.float64], labels: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
    for i in range(len(rows)):
        if 0 <= labels[i] < len(sums):
            sums[labels[i]] += rows[i]
