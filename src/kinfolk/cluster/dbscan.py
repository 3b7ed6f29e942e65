"""DBSCAN on the neighbour graph: core rows joined to core rows, the others at their border or noise (Ester 1996)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import check_number, check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.cluster._internal.union_find import find, roots
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph


class DBSCAN(Clusterer):
    r"""Core rows have `min_samples` rows, themselves included, within a cosine distance of `eps`.

    i ~ j  where both are core and 1 - s_ij <= eps;   another row joins its most similar core row within eps, or is
    noise (-1)

    Parameters
    ----------
    eps : cosine distance, 1 - cosine.
    min_samples : rows within eps, itself included, that make a row core.
    k : neighbours of each row; only pairs of which one is among the k nearest of the other count. Core rows are exact
        while min_samples <= k + 1.
    max_size : no cluster gets larger.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size, -1 for noise.
    core_ : (n,) bool, which rows are core.
    graph_ : the neighbour graph.

    The defaults are scikit-learn's. Cost: three passes over the n k edges, where scikit-learn compares all pairs.

    Examples
    --------
    >>> X = [[1, 0.0], [1, 0.1], [1, 0.2], [0, 1.0]]
    >>> DBSCAN(eps=0.05, min_samples=2, k=3).fit_predict(X)
    array([ 0,  0,  0, -1])
    """

    def __init__(  # noqa: D107
        self,
        eps: float = 0.5,
        min_samples: int = 5,
        k: int = 80,
        *,
        max_size: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.k = k
        self.max_size = max_size
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("eps", self.eps, least=0)
        check_whole("min_samples", self.min_samples)
        check_whole("k", self.k)
        if self.min_samples > self.k + 1:
            raise InputError(
                f"min_samples={self.min_samples} needs a k of {self.min_samples - 1} or more, not {self.k}"
            )

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        g = self._graph(X, self.k)
        if g.k + 1 < self.min_samples <= len(g):
            raise InputError(
                f"min_samples={self.min_samples} needs a graph of {self.min_samples - 1} neighbours, this one has {g.k}"
            )
        least = np.float32(1.0 - self.eps)
        if self.min_samples == 1:
            core = np.ones(len(g), dtype=bool)
        elif self.min_samples > len(g):
            core = np.zeros(len(g), dtype=bool)
        else:
            core = np.ascontiguousarray(g.similarities[:, self.min_samples - 2]) >= least
        self.core_ = core
        parent, nearest = (np.arange(len(g), dtype=np.int32), np.full(len(g), -1, dtype=np.int32))
        cosine = np.full(len(g), -2, dtype=np.float32)
        indices, similarities = (np.ascontiguousarray(g.indices), np.ascontiguousarray(g.similarities))
        _join_core_rows(indices, similarities, least, core, parent, nearest, cosine)
        labels = roots(parent)
        return np.where(core, labels, np.where(nearest >= 0, labels[nearest], -1))

    def _least_similarity(self) -> float:
        return 1.0 - self.eps


@kernel()
def _join_core_rows(
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
    least: np.float32,
    core: NDArray[np.bool_],
    parent: NDArray[np.int32],
    nearest: NDArray[np.int32],
    cosine: NDArray[np.float32],
) -> None:
    """Join core rows in `parent`; write the nearest core row of each other row, over edges in either direction."""
    n, k = indices.shape
    for i in range(n):
        for a in range(k):
            j, s = indices[i, a], similarities[i, a]
            if s < least:
                break
            if core[i] and core[j]:
                one, other = find(parent, i), find(parent, j)
                parent[max(one, other)] = min(one, other)
            elif core[j] and s > cosine[i]:
                nearest[i], cosine[i] = j, s
            elif core[i] and s > cosine[j]:
                nearest[j], cosine[j] = i, s
