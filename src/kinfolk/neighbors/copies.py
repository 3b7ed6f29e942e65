r"""Near copies: rows so much nearer to each other than neighbours are that they are one thing seen twice.

    |x_i - x_j| <= 0.2 median over rows of the distance to the 64th neighbour,     closed by chains of such pairs

The most central row of a chain stays; where the rows are known, one that is not as near to it is no copy.

Bursts of photos and placeholders fill each other's neighbourhoods, and their number would pass for the size of a class.
Where classes are larger than 64 rows the 64th neighbour is kin itself, and still the limit is far below the distance of
two rows of a class, unless they are copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kinfolk._core.kernels import kernel
from kinfolk.neighbors.graph import NeighborGraph

NEIGHBORS = 64
SHARE_OF_DISTANCE = 0.2  # chosen on the bursts of the training parts: 0.1 misses copies, 0.3 joins lookalikes
ROUNDING = 1e-3  # distance of two exact copies whose cosine is rounded in float32


def without_near_copies(g: NeighborGraph) -> NeighborGraph:
    """Return the graph of what the rows show, each thing once; g itself where there are no copies, or little else.

    >>> import kinfolk as kf
    >>> rows = np.eye(9, 5)[[0, 0, 1, 2, 3, 4]] + 0.1
    >>> len(without_near_copies(kf.knn_graph(rows, k=4)))
    5
    """
    first, which, _ = near_copies(g.indices[:, :NEIGHBORS], g.similarities[:, :NEIGHBORS])
    if not 1 < len(first) < len(which):
        return g
    return graph_among(g, first, g.k // 2) or g


def near_copies(
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
    free: NDArray[np.bool_] | None = None,
    X: NDArray[np.float32] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Return the rows, (m,), which of them each row shows, (n,), and up to which distance two rows count as copies.

    Of the copies of one thing the most central one stays, so that the order of the rows does not matter.

    Shapes: indices, similarities (n, k) of 64 neighbours, or fewer in a smaller set; free (n,) which rows may count as
    copies of others, None: all; X (n, d) the rows of length one: with them a row at the end of a chain that is not near
    to the one that stays is no copy of it.

    >>> near_copies(np.array([[1, 2], [0, 2], [0, 1]]), np.array([[1, 0.5], [1, 0.5], [0.5, 0.4]]))[1]
    array([0, 0, 1])
    """
    near = np.asarray(similarities[:, :NEIGHBORS])
    far = np.sqrt(np.maximum(2 - 2 * near.min(axis=1), 0))
    distance = max(SHARE_OF_DISTANCE * float(np.median(far)), ROUNDING)
    row, place = np.nonzero(2 - 2 * near <= distance**2)
    other = np.asarray(indices)[row, place]
    if free is not None:
        both = free[row] & free[other]
        row, other = row[both], other[both]
    n = len(indices)
    _, things = connected_components(coo_array((np.ones(len(row), dtype=bool), (row, other)), (n, n)), directed=False)
    order = np.argsort(near.sum(axis=1), kind="stable")[::-1]
    shown = order[np.unique(things[order], return_index=True)[1]][things]
    if X is not None:
        apart = 2 - 2 * np.einsum("ij,ij->i", X, X[shown]) > max(distance, ROUNDING) ** 2
        shown = np.where(apart, np.arange(n), shown)
    first, which = np.unique(shown, return_inverse=True)
    return first, which.astype(np.int64, copy=False), distance


def graph_among(g: NeighborGraph, rows: NDArray[np.int64], fewest: int) -> NeighborGraph | None:
    """Return the graph of some rows (m,) among themselves, with the similarities that it has.

    None where some row is left with fewer than `fewest` neighbours.

    >>> import kinfolk as kf
    >>> graph_among(kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0]], k=2), np.array([0, 2]), 1).indices.tolist()
    [[1], [0]]
    """
    place = np.full(len(g), -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    indices = np.full((len(rows), g.k), -1, dtype=np.int32)
    similarities = np.zeros((len(rows), g.k), dtype=np.float32)
    given = np.ascontiguousarray(g.indices, dtype=np.int32), np.ascontiguousarray(g.similarities, dtype=np.float32)
    _keep_among(*given, rows, place, indices, similarities)
    k = int((indices >= 0).sum(axis=1).min())
    if k < fewest:
        return None
    return NeighborGraph(indices[:, :k].copy(), similarities[:, :k].copy(), len(rows), g.method, g.recall)


@kernel()
def _keep_among(
    given: NDArray[np.int32],
    cosines: NDArray[np.float32],
    rows: NDArray[np.int64],
    place: NDArray[np.int32],
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
) -> None:
    for i in range(len(rows)):
        count = 0
        for a in range(given.shape[1]):
            other = place[given[rows[i], a]]
            if other >= 0:
                indices[i, count], similarities[i, count] = other, cosines[rows[i], a]
                count += 1
