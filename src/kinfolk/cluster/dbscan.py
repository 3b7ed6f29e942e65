"""DBSCAN on the neighbour graph: dense rows joined to dense rows, the others at their edge or noise (Ester 1996)."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.cluster._internal.union_find import find, roots
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph


class DBSCAN(Clusterer):
    r"""Core rows have `min_samples` rows, themselves included, within a cosine distance of `eps`.

    i ~ j  where both are core and 1 - s_ij <= eps;   another row joins its most similar core row within eps, or is
    noise (-1)

    eps          cosine distance, 1 - cosine
    min_samples  rows that make a row core
    k            neighbours of each row; only pairs of which one is among the k nearest of the other are seen. Who is
                 core is exact while min_samples <= k + 1

    Defaults as scikit-learn's. Cost: three passes over the n k edges, where the usual program compares all pairs.

    >>> X = [[1, 0.0], [1, 0.1], [1, 0.2], [0, 1.0]]
    >>> DBSCAN(eps=0.05, min_samples=2, k=3).fit_predict(X)
    array([ 0,  0,  0, -1])
    """

    def __init__(  # noqa: D107
        self, eps: float = 0.5, min_samples: int = 5, k: int = 80, *, max_size: int | None = None
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.k = k
        self.max_size = max_size

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        if not self.eps >= 0 or not self.min_samples >= 1:
            raise InputError(
                f"eps must not be negative and min_samples 1 or more, not {self.eps!r} and {self.min_samples!r}"
            )
        g = self._graph(X, self.k)
        if self.min_samples > self.k + 1:
            raise InputError(
                f"min_samples={self.min_samples} needs a k of {self.min_samples - 1} or more, not {self.k}"
            )
        least = np.float32(1.0 - self.eps)
        if self.min_samples == 1:
            core = np.ones(len(g), dtype=bool)
        elif self.min_samples > g.k + 1:  # more than there are rows
            core = np.zeros(len(g), dtype=bool)
        else:
            core = np.ascontiguousarray(g.similarities[:, self.min_samples - 2]) >= least
        self.core_ = core
        return _dense_parts(np.asarray(g.indices), np.asarray(g.similarities), least, core)

    def _least_similarity(self) -> float:
        return 1.0 - self.eps


@nb.njit(cache=True)
def _dense_parts(
    indices: NDArray[np.int32], similarities: NDArray[np.float32], least: np.float32, core: NDArray[np.bool_]
) -> NDArray[np.int32]:
    n, k = indices.shape
    parent = np.arange(n).astype(np.int32)
    nearest = np.full(n, -1)  # core row of a row that is not core, over edges in either direction
    closeness = np.full(n, np.float32(-2))
    for i in range(n):
        for a in range(k):
            j, s = indices[i, a], similarities[i, a]
            if s < least:
                break
            if core[i] and core[j]:
                one, other = find(parent, i), find(parent, j)
                parent[max(one, other)] = min(one, other)
            elif core[j] and s > closeness[i]:
                nearest[i], closeness[i] = j, s
            elif core[i] and s > closeness[j]:
                nearest[j], closeness[j] = i, s
    result = roots(parent)
    for i in range(n):
        if not core[i]:
            result[i] = result[nearest[i]] if nearest[i] >= 0 else -1
    return result
