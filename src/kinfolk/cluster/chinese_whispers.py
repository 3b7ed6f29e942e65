"""Chinese Whispers: every row takes the class of most of its neighbours (Biemann 2006)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import check_number, check_whole
from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph


class ChineseWhispers(Clusterer):
    r"""Each row starts with a class of its own; in random order each takes the class with most weight around it.

    c_i <- argmax over c of  sum over neighbours j with c_j = c of s_ij

    Parameters
    ----------
    k : neighbours of each row; an edge counts for both its ends.
    threshold : cosine below which an edge does not count.
    iterations : passes over all rows; it ends sooner when nothing changes.
    max_size : no cluster gets larger.
    random_state : the same number gives the same clusters.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size.
    graph_ : the neighbour graph.

    Among equal weights a row keeps its class, else it takes the lowest. Cost: a pass over the edges an iteration.

    Examples
    --------
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
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.threshold = threshold
        self.iterations = iterations
        self.max_size = max_size
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("k", self.k)
        check_number("threshold", self.threshold)
        check_whole("iterations", self.iterations)

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        graph = self._graph(X, self.k).symmetric("union")
        weights = np.where(graph.data >= np.float32(self.threshold), np.maximum(graph.data, 0), 0).astype(np.float64)
        starts, neighbors = (graph.indptr.astype(np.int64, copy=False), graph.indices.astype(np.int32, copy=False))
        classes = np.arange(graph.shape[0])
        rng = np.random.default_rng(self.random_state)
        for _ in range(self.iterations):
            if _update_classes(starts, neighbors, weights, rng.permutation(len(classes)), classes) == 0:
                break
        return classes


@kernel()
def _update_classes(
    starts: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> int:
    """Update the class of each row once, in this order; return how many changed."""
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
