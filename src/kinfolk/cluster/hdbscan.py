"""HDBSCAN: density clusters that persist over many densities; scikit-learn's program on rows of length one."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster.base import Clusterer
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph

SLOW_FROM = 50_000


class SlowMethodWarning(UserWarning):
    """The method compares all pairs of rows: so many rows take hours."""


class HDBSCAN(Clusterer):
    """Clusters of at least `min_cluster_size` rows, the rest is noise (-1); Euclidean distance between unit rows.

    min_cluster_size   the smallest cluster
    min_samples        rows that make a place dense; None: min_cluster_size

    Features only. Cost: quadratic in the rows; from 50,000 on it warns.

    >>> X = np.eye(3).repeat(6, axis=0) + 0.1 * np.random.default_rng(0).random((18, 3))
    >>> HDBSCAN().fit(X).n_clusters_
    3
    """

    def __init__(  # noqa: D107
        self, min_cluster_size: int = 5, min_samples: int | None = None, *, max_size: int | None = None
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.max_size = max_size

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        from sklearn.cluster import HDBSCAN as Reference  # noqa: N811

        unit = self._unit(X)
        if len(unit) >= SLOW_FROM:
            warnings.warn(
                f"HDBSCAN compares all pairs of {len(unit):,} rows, which takes hours: GCut, HAC and Leiden do not",
                SlowMethodWarning,
                stacklevel=4,
            )
        smallest = min(self.min_cluster_size, len(unit))
        samples = None if self.min_samples is None else min(self.min_samples, len(unit))
        return Reference(min_cluster_size=smallest, min_samples=samples, copy=True).fit_predict(unit)
