"""Chinese Whispers: every row says what most of its neighbours say (Biemann 2006)."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph


class ChineseWhispers(Clusterer):
    r"""Each row starts with a class of its own and takes, in random order, the class its neighbours weigh most.

    c_i <- argmax over c of  sum over neighbours j with c_j = c of s_ij

    k            neighbours of each row; an edge counts for both its ends
    threshold    cosine below which an edge does not count
    iterations   rounds over all rows; it ends sooner when nothing changes
    random_state the same number gives the same clusters

    Among equal weights a row keeps its class, else it takes the lowest. Cost: a pass over the edges for each iteration.

    >>> X = [[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]]
    >>> ChineseWhispers(k=2).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(  # noqa: D107
        self,
        k: int = 20,
        threshold: float = 0.5,
        iterations: int = 20,
        *,
        max_size: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.k = k
        self.threshold = threshold
        self.iterations = iterations
        self.max_size = max_size
        self.random_state = random_state

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        if self.iterations < 1:
            raise InputError(f"iterations must be 1 or more, not {self.iterations}")
        graph = self._graph(X, self.k).symmetric("union")
        weights = np.where(graph.data >= np.float32(self.threshold), np.maximum(graph.data, 0), 0).astype(np.float64)
        classes = np.arange(graph.shape[0])
        rng = np.random.default_rng(self.random_state)
        for _ in range(self.iterations):
            if _whisper(graph.indptr, graph.indices, weights, rng.permutation(len(classes)), classes) == 0:
                break
        return classes


@nb.njit(cache=True)
def _whisper(
    starts: NDArray[np.integer],
    neighbors: NDArray[np.integer],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> int:
    """Let each row listen once, in this order; return how many changed their class."""
    support = np.zeros(len(classes))
    changed = 0
    for i in order:
        for e in range(starts[i], starts[i + 1]):
            support[classes[neighbors[e]]] += weights[e]
        best = classes[i]
        for e in range(starts[i], starts[i + 1]):
            c = classes[neighbors[e]]
            lower = support[c] == support[best] and c < best and best != classes[i]
            if support[c] > support[best] or lower:
                best = c
        for e in range(starts[i], starts[i + 1]):
            support[classes[neighbors[e]]] = 0.0
        changed += best != classes[i]
        classes[i] = best
    return changed
