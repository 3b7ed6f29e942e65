"""FINCH: rows are linked to their nearest neighbours, then clusters to theirs (Sarfraz et al. 2019)."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import is_whole
from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.base import Clusterer, by_size
from kinfolk.cluster._internal.means import mean_directions
from kinfolk.cluster._internal.union_find import connected
from kinfolk.features import Matrix, UnitRows
from kinfolk.neighbors import NeighborGraph, knn_graph


class Finch(Clusterer):
    r"""Link every row to its nearest neighbour; connected components are clusters; their means are the next rows.

    i ~ j  where  j = f(i),  i = f(j)  or  f(i) = f(j),     f(i): the nearest neighbour of i

    Parameters
    ----------
    level : which partition becomes `labels_`: 0 the finest, 1 (the default) clusters of those, ... -1 the coarsest.
        Where there is only one partition, the default is that; any other level that is not there is refused.
    max_size : no cluster gets larger.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size.
    partitions_ : the labels of every level down to two clusters, finest first.

    Works on features only: means of clusters are compared. Memory: two copies of the features.

    Examples
    --------
    >>> X = [[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]]
    >>> Finch(level=0).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(  # noqa: D107
        self,
        level: int = 1,
        *,
        max_size: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.level = level
        self.max_size = max_size
        self.verbose = verbose

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        if not is_whole(self.level, least=-sys.maxsize):
            raise InputError(f"level must be a whole number, not {self.level!r}")
        self.partitions_ = first_neighbor_partitions(self._unit(X))
        levels = len(self.partitions_)
        if self._is_default("level"):
            return self.partitions_[min(self.level, levels - 1)]
        if not -levels <= self.level < levels:
            raise InputError(f"level must lie between {-levels} and {levels - 1} for these rows, not {self.level}")
        return self.partitions_[self.level]


def first_neighbor_partitions(unit: NDArray[np.float32]) -> list[NDArray[np.int64]]:
    """Return the labels of each level, finest first, each by falling size; the last has two clusters or more.

    >>> [len(set(p)) for p in first_neighbor_partitions(np.eye(4, dtype=np.float32)[[0, 0, 1, 1, 2, 2, 3, 3]])]
    [4]
    """
    labels, means = np.arange(len(unit)), unit
    partitions: list[NDArray[np.int64]] = []
    while len(means) > 1:
        nearest = knn_graph(means if partitions else UnitRows(unit), 1, show_progress=False).indices[:, 0]
        linked = connected(len(means), np.arange(len(means)), nearest)
        labels = by_size(linked[labels])
        if partitions and labels.max() == 0:
            break
        partitions.append(labels)
        means = mean_directions(unit, labels)
    return partitions
