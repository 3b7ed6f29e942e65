"""K-Means on the sphere: faiss, started by k-means++."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kinfolk._core.checks import LARGEST, check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.faiss import faiss
from kinfolk.cluster._internal.base import Clusterer, by_size
from kinfolk.features import Matrix, UnitRows, unit_rows
from kinfolk.neighbors import NeighborGraph, knn_graph


class KMeans(Clusterer):
    r"""Each row is assigned to the centre of largest cosine, each centre becomes the mean of its rows, and so on.

    maximise  sum over rows of <x_i, m_c(i)>,     |m_c| = 1

    Parameters
    ----------
    n_clusters : number of clusters, which has to be known; empty ones are left out.
    n_init : starts, of which the best is taken.
    max_iter : iterations of each start.
    max_size : no cluster gets larger.
    random_state : the same number gives the same clusters on one machine.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size.
    cluster_centers_ : (n_clusters_, d) of length one, in the order of the labels.

    Works on features only. Cost: n n_clusters d multiplications an iteration, in blocks; memory: one copy of the
    features.

    Examples
    --------
    >>> X = [[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]]
    >>> KMeans(n_clusters=2).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(  # noqa: D107
        self,
        n_clusters: int = 8,
        n_init: int = 1,
        max_iter: int = 25,
        *,
        max_size: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_size = max_size
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("n_clusters", "n_init", "max_iter"):
            check_whole(name, getattr(self, name))

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        unit = self._unit(X)
        if self.n_clusters > len(unit):
            raise InputError(f"n_clusters must lie between 1 and the {len(unit)} rows, not {self.n_clusters!r}")
        program = faiss.Kmeans(
            unit.shape[1],
            self.n_clusters,
            niter=self.max_iter,
            nredo=self.n_init,
            spherical=True,
            seed=self.random_state % LARGEST + 1,
            min_points_per_centroid=1,
            init_method=faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS,
        )
        program.train(unit)
        centers = np.asarray(program.centroids)
        nearest = _nearest(centers, UnitRows(unit))
        labels = by_size(nearest)
        self.cluster_centers_ = unit_rows(centers[nearest[np.unique(labels, return_index=True)[1]]])
        return labels

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Return the nearest centre of new rows (m, d); with `max_size` the majority of their nearest fitted rows."""
        check_is_fitted(self, "labels_")
        return _nearest(self.cluster_centers_, self._new_rows(X)) if self.max_size is None else super().predict(X)


def _nearest(centers: NDArray[np.float32], X: Matrix) -> NDArray[np.int64]:
    return knn_graph(centers, 1, "exact", queries=X, show_progress=False).indices[:, 0].astype(np.int64)
