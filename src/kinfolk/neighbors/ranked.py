"""The neighbours of a graph by other features of the same rows: no new search.

    j in the first `among` neighbours of i,     ordered by cos(x_i, x_j)

Features that were moved a little, by propagation or by a linear map, have their neighbours among the old ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel, over_spans
from kinfolk.neighbors.graph import NeighborGraph


def ranked(
    X: NDArray[np.float32], g: NeighborGraph, k: int, among: int, targets: NDArray[np.float32] | None = None
) -> NeighborGraph:
    """Return the k best of the first `among` neighbours in g, by the cosines of X (n, d) of length one.

    targets: (m, d), what the neighbours of g are rows of; None: X itself.

    >>> import kinfolk as kf
    >>> X = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    >>> ranked(X, kf.knn_graph(np.eye(3) + 0.1, 2), 1, 2).indices.ravel()
    array([1, 0, 0], dtype=int32)
    """
    among, k = min(among, g.k), min(k, g.k)
    k = min(k, among)
    n = len(X)
    indices, similarities = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
    given = np.ascontiguousarray(g.indices[:, :among], dtype=np.int32)
    others = X if targets is None else targets
    over_spans(lambda first, last: _rank(first, last, X, others, given, indices, similarities), n)
    return NeighborGraph(indices, similarities, g.n_targets, g.method, g.recall, g.square)


def cosines(X: NDArray[np.float32], indices: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the cosine of each row of X (n, d) of length one with its neighbours (n, k): (n, k).

    >>> cosines(np.eye(2, dtype=np.float32)[[0, 0, 1]], np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32)).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    result = np.empty(indices.shape, dtype=np.float32)
    given = np.ascontiguousarray(indices, dtype=np.int32)
    over_spans(lambda first, last: _cosines(first, last, X, given, result), len(X))
    return result


@kernel(fastmath={"reassoc", "contract"})
def _cosine(X: NDArray[np.float32], i: int, Y: NDArray[np.float32], j: int) -> np.float32:
    total = np.float32(0)
    for column in range(X.shape[1]):
        total += X[i, column] * Y[j, column]
    return min(max(total, np.float32(-1)), np.float32(1))


@kernel()
def _cosines(
    first: int, last: int, X: NDArray[np.float32], indices: NDArray[np.int32], result: NDArray[np.float32]
) -> None:
    for i in range(first, last):
        for a in range(indices.shape[1]):
            result[i, a] = _cosine(X, i, X, indices[i, a])


@kernel()
def _rank(
    first: int,
    last: int,
    X: NDArray[np.float32],
    targets: NDArray[np.float32],
    given: NDArray[np.int32],
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
) -> None:
    k = indices.shape[1]
    scores = np.empty(given.shape[1], np.float32)
    for i in range(first, last):
        for a in range(given.shape[1]):
            scores[a] = -_cosine(X, i, targets, given[i, a])
        order = np.argsort(scores, kind="mergesort")  # stable: of equal ones the nearer by the graph first
        for a in range(k):
            indices[i, a], similarities[i, a] = given[i, order[a]], -scores[order[a]]
