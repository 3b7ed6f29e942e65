"""FINCH: whoever is my nearest neighbour is in my cluster; then the same among clusters (Sarfraz et al. 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.base import Clusterer, by_size
from kinfolk.cluster._internal.means import mean_directions
from kinfolk.cluster._internal.union_find import connected
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph, knn_graph


class Finch(Clusterer):
    r"""Link every row to its first neighbour; the connected parts are clusters; their means are the next rows.

    i ~ j  where  j = f(i),  i = f(j)  or  f(i) = f(j),     f(i): the nearest neighbour of i

    level    which partition becomes `labels_`: 0 the finest, 1 (the default) clusters of those, ... -1 the coarsest

    After fit: `labels_`, and `partitions_` with every level down to two clusters, finest first. Features only: the
    means of clusters are compared. Memory: two copies of the features.

    >>> X = [[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]]
    >>> Finch(level=0).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(self, level: int = 1, *, max_size: int | None = None) -> None:  # noqa: D107
        self.level = level
        self.max_size = max_size

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        unit = self._unit(X)
        self.partitions_ = first_neighbor_partitions(unit)
        if isinstance(self.level, bool) or not isinstance(self.level, int | np.integer):
            raise InputError(f"level must be a whole number, not {self.level!r}")
        # a set with fewer levels than asked for has its coarsest
        last = len(self.partitions_) - 1
        return self.partitions_[min(self.level, last) if self.level >= 0 else max(self.level + last + 1, 0)]


def first_neighbor_partitions(unit: NDArray[np.float32]) -> list[NDArray[np.int64]]:
    """Return the labels of each level, finest first, each by falling size; the last has two clusters or more.

    >>> [len(set(p)) for p in first_neighbor_partitions(np.eye(4, dtype=np.float32)[[0, 0, 1, 1, 2, 2, 3, 3]])]
    [4]
    """
    labels, means = np.arange(len(unit)), unit
    partitions: list[NDArray[np.int64]] = []
    while len(means) > 1:
        nearest = knn_graph(means, 1, show_progress=False).indices[:, 0]
        linked = connected(len(means), np.arange(len(means)), nearest)
        labels = by_size(linked[labels])
        if partitions and labels.max() == 0:
            break
        partitions.append(labels)
        means = mean_directions(unit, labels)
    return partitions
