"""Base of the clusterers: input, labels numbered by size, prediction of new rows, the size limit, the summary."""

from __future__ import annotations

import inspect
import logging
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from kinfolk._core.checks import check_finite, check_seed, check_whole, is_whole
from kinfolk._core.errors import InputError
from kinfolk._core.feature_names import check_columns, remember_columns
from kinfolk._core.frames import is_frame
from kinfolk._core.progress import log_lines, stage
from kinfolk._core.rows import check_rows
from kinfolk.cluster._internal.medoids import cluster_sums
from kinfolk.cluster._internal.size_limit import split_large
from kinfolk.features import Matrix, as_matrix, unit_rows
from kinfolk.neighbors import NeighborGraph, knn_graph

log = logging.getLogger(__name__)
VOTERS = 5  # nearest fitted rows that decide the cluster of a new row
SIZE_LIMIT_K = 20  # neighbours along which clusters above the size limit are split, for methods without a graph


@dataclass(frozen=True, eq=False)
class Summary:
    """A clustering in a few numbers.

    Attributes
    ----------
    rows, clusters, singletons, noise : counts; noise rows are in no cluster.
    sizes : (clusters,) falling.
    largest_share : share of all rows in the largest cluster.
    tightness : mean cosine of a row to the mean of its cluster, over clusters of two or more; None without features.
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

    Attributes
    ----------
    max_size : no cluster gets larger. Larger ones are split and joined again along their edges, most similar first,
        without the joins that would exceed the limit. None: no limit.
    n_features_in_, feature_names_in_ : dimensions, and the titles of the columns after a fit on a table.
    labels_ : (n,) clusters numbered by falling size; -1 is noise, where a method has noise.
    verbose : say on standard error what is done, and how long.
    n_clusters_ : number of clusters, without noise.
    graph_ : the neighbour graph, where one was used, else None.
    features_ : the features given, not a copy; None after a fit on a graph.

    Examples
    --------
    A clusterer of its own: rows whose largest coordinate is the same.

    >>> class ByAxis(Clusterer):
    ...     def _cluster(self, X):
    ...         return self._unit(X).argmax(axis=1)
    >>> ByAxis().fit_predict([[1, 0.2], [0.1, 1], [0, 1]])
    array([1, 0, 0])
    """

    max_size: int | None = None
    verbose: bool = False
    labels_: NDArray[np.int64]

    @abstractmethod
    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        """Return a number for the cluster of each row, any but the same within a cluster; below zero for noise.

        X has two rows or more and is not validated yet: `_unit` and `_graph` do that.
        """

    def fit(self, X: Matrix | NeighborGraph, y: Any = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : features (n, d), as an array, a torch tensor, a FeatureSet or a table of numbers (pandas, polars, pyarrow);
            or a NeighborGraph, where the method works on a graph.
        y : ignored.

        Returns
        -------
        self : with `labels_`.
        """
        self._check_settings()
        with log_lines(self.verbose), stage("clustering"):
            self._fit(X)
            log.info("%d clusters of %d rows by %s", self.n_clusters_, len(self.labels_), self)
        return self

    def fit_predict(self, X: Matrix | NeighborGraph, y: Any = None, **_: Any) -> NDArray[np.int64]:
        """Cluster the rows and return their clusters: `fit(X).labels_`.

        Parameters
        ----------
        X : as in `fit`.
        y : ignored.

        Returns
        -------
        labels : (n,) int64, clusters numbered by falling size; -1 is noise, where a method has noise.
        """
        return self.fit(X, y).labels_

    def _fit(self, X: Matrix | NeighborGraph) -> None:
        self.graph_: NeighborGraph | None = None
        self.features_: NDArray[Any] | None = None
        if isinstance(X, NeighborGraph):
            X._must_be_square("clustered")
        else:
            self.features_ = as_matrix(X)
            self._remember(X, self.features_)
            X = self.features_ if is_frame(X) else X
        if rows_of(X) == 1:
            if self.features_ is not None:
                check_rows(self.features_)
            labels = np.zeros(1, dtype=np.int64)
        else:
            labels = by_size(self._cluster(X))
        if self.max_size is not None:
            labels = by_size(self._limited(labels, self.max_size))
        self.labels_ = labels
        self.n_clusters_ = int(labels.max(initial=-1)) + 1

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Return the clusters of new rows: the majority of their 5 nearest fitted rows, weighted by cosine.

        Parameters
        ----------
        X : features (m, d).

        Returns
        -------
        labels : (m,) int64. Fitted rows that are noise, or too far for the method to join, do not count; -1 where none
            is left.
        """
        check_is_fitted(self, "labels_")
        if self.features_ is None:
            raise InputError("new rows are compared with features: fit on features instead of a graph to predict")
        X = self._new_rows(X)
        g = knn_graph(self.features_, min(VOTERS, len(self.features_)), queries=X, show_progress=False)
        votes = self.labels_[g.indices]
        weights = np.maximum(g.similarities, 1e-6) * ((votes >= 0) & (g.similarities >= self._least_similarity()))
        support = np.stack([(weights * (votes == votes[:, [a]])).sum(axis=1) for a in range(g.k)], axis=1)
        support *= weights > 0
        winner = np.take_along_axis(votes, support.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(support.max(axis=1) > 0, winner, -1)

    def _remember(self, X: Matrix, matrix: NDArray[Any]) -> None:
        """Keep the number of columns and, of a table, their titles; matrix: X as an array."""
        remember_columns(self, X, matrix)

    def _new_rows(self, X: Matrix) -> Matrix:
        """Return X after a check of its columns, a table as an array."""
        matrix = as_matrix(X)
        check_columns(self, X, matrix)
        return matrix if is_frame(X) else X

    def _least_similarity(self) -> float:
        """Return the cosine below which the method does not join two rows."""
        return -1.0

    def summary(self) -> Summary:
        """Return the number and the sizes of the clusters, singletons, noise and tightness.

        Examples
        --------
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
        """Return the graph of the k nearest neighbours, given or searched; the default k gives way to fewer rows."""
        check_whole("k", k)
        most = X.k if isinstance(X, NeighborGraph) else rows_of(X) - 1
        own = getattr(self, "k", k)
        if own > most and not self._is_default("k"):
            have = f"this graph has {most:,}" if isinstance(X, NeighborGraph) else f"each row has {most:,} others"
            raise InputError(f"k={own} neighbours are too many: {have}")
        k = min(k, most)
        self.graph_ = X.restrict(k) if isinstance(X, NeighborGraph) else knn_graph(X, k)
        return self.graph_

    def _is_default(self, name: str) -> bool:
        """Return whether a setting has its default: only that gives way to what the rows allow."""
        known = inspect.signature(type(self)).parameters.get(name)
        return known is not None and known.default == getattr(self, name)

    def _unit(self, X: Matrix | NeighborGraph) -> NDArray[np.float32]:
        """Return the rows, validated and of length one: (n, d)."""
        if isinstance(X, NeighborGraph):
            raise InputError(f"{type(self).__name__} works on the vectors themselves: give it features, not a graph")
        return unit_rows(X)

    def _limited(self, labels: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
        if np.bincount(labels[labels >= 0], minlength=1).max() <= max_size:
            return labels
        g = self.graph_
        if g is None:
            g = knn_graph(self.features_, min(SIZE_LIMIT_K, len(labels) - 1))  # type: ignore[arg-type]
        return split_large(labels, g, max_size)

    def _check_settings(self) -> None:
        """Refuse settings that no rows could make right; a subclass adds its own."""
        given = self.get_params(deep=False)
        check_finite(given)
        if "random_state" in given:
            check_seed(given["random_state"], "random_state")
        if self.max_size is not None and not is_whole(self.max_size):
            raise InputError(f"max_size must be a whole number from 1 on, or None for no limit, not {self.max_size!r}")


def rows_of(X: Matrix | NeighborGraph) -> int:
    """Return the number of rows to be clustered.

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
    """Return the summary of a clustering.

    Parameters
    ----------
    labels : (n,) clusters; below zero for noise.
    X : features (n, d), for the tightness; or None.

    Examples
    --------
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
    sums = cluster_sums(np.where(labels < joined, labels, -1), matrix)  # numbered by size: the joined come first
    return float(np.linalg.norm(sums, axis=1).sum() / sizes[:joined].sum())
