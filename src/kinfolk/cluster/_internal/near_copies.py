r"""Near copies: rows so much nearer to each other than neighbours are that they are one thing seen twice.

    |x_i - x_j| <= 0.2 median over rows of the distance to the 64th neighbour,     closed by chains of such pairs

Bursts of photos and placeholders fill each other's neighbourhoods, and their number would pass for the size of a class.
Where classes are larger than 64 rows the 64th neighbour is kin itself, and still the limit is far below the distance of
two rows of a class, unless they are copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.constraints import Constraints
from kinfolk.cluster._internal.union_find import connected
from kinfolk.neighbors import NeighborGraph

NEIGHBORS = 64
SHARE_OF_DISTANCE = 0.2  # chosen on the bursts of the training parts: 0.1 misses copies, 0.3 joins lookalikes
ROUNDING = 1e-3  # distance of two exact copies whose cosine is rounded in float32


def exact_copies(unit: NDArray[np.float32], known: Constraints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct row of (n, d) first stands (m,), and for each row which of them it is (n,).

    Rows that a constraint keeps apart from others stay as they are.

    >>> rows = np.array([[0, 1], [1, 0], [0, 1]], dtype=np.float32)
    >>> exact_copies(rows, Constraints(np.arange(3), np.empty((0, 2), dtype=np.int64)))
    (array([0, 1]), array([0, 1, 0]))
    """
    free = ~np.isin(known.together, known.apart)
    whole = np.ascontiguousarray(unit + np.float32(0))  # -0 is 0
    texts = whole.view(np.dtype((np.void, whole.shape[1] * whole.itemsize))).ravel()  # compared as bytes: no floats
    _, first, which = np.unique(texts, return_index=True, return_inverse=True)
    seen = first[which]
    kept_apart = ~(free & free[seen])
    _, first, which = np.unique(
        np.where(kept_apart, np.arange(len(unit)), seen), return_index=True, return_inverse=True
    )
    return first, which


def near_copies(
    indices: NDArray[np.int32], similarities: NDArray[np.float32], known: Constraints
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Return the rows, (m,), which of them each row shows, (n,), and up to which distance two rows count as copies.

    Shapes: indices, similarities (n, k) of 64 neighbours, or fewer in a smaller set.

    >>> free = Constraints(np.arange(3), np.empty((0, 2), dtype=np.int64))
    >>> near_copies(np.array([[1, 2], [0, 2], [0, 1]]), np.array([[1, 0.5], [1, 0.5], [0.5, 0.4]]), free)[1]
    array([0, 0, 1])
    """
    free = ~np.isin(known.together, known.apart)
    far = np.sqrt(np.maximum(2 - 2 * similarities[:, :NEIGHBORS].min(axis=1), 0))
    distance = max(SHARE_OF_DISTANCE * float(np.median(far)), ROUNDING)
    row, place = np.nonzero(2 - 2 * similarities <= distance**2)
    other = np.asarray(indices)[row, place]
    both = free[row] & free[other]
    root = connected(len(indices), row[both], other[both])
    _, first, which = np.unique(root, return_index=True, return_inverse=True)
    return first, which.astype(np.int64, copy=False), distance


def without_copies(
    g: NeighborGraph, first: NDArray[np.int64], which: NDArray[np.int64], fewest: int
) -> NeighborGraph | None:
    """Return the graph of the first rows (m,) of what rows (n,) show, a copy standing for the first one.

    None where some row is left with fewer than `fewest` neighbours: most of its own were copies of one thing.

    >>> indices, similarities = np.array([[1, 2], [0, 2], [0, 1]], np.int32), np.array([[1, 0.5], [1, 0.5], [0.5, 0.4]])
    >>> g = NeighborGraph(indices, similarities.astype(np.float32), 3)
    >>> without_copies(g, np.array([0, 2]), np.array([0, 0, 1]), 1).indices.tolist()
    [[1], [0]]
    """
    indices = np.full((len(first), g.k), -1, dtype=np.int32)
    similarities = np.zeros((len(first), g.k), dtype=np.float32)
    given = np.ascontiguousarray(g.indices, dtype=np.int32), np.ascontiguousarray(g.similarities, dtype=np.float32)
    _drop_copies(*given, first, which, indices, similarities)
    k = int((indices >= 0).sum(axis=1).min())
    if k < fewest:
        return None
    return NeighborGraph(indices[:, :k].copy(), similarities[:, :k].copy(), len(first), g.method, g.recall)


@kernel()
def _drop_copies(
    given: NDArray[np.int32],
    cosines: NDArray[np.float32],
    first: NDArray[np.int64],
    which: NDArray[np.int64],
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
) -> None:
    met = np.full(len(first), -1, np.int64)
    for i in range(len(first)):
        met[i], count = i, 0
        for a in range(given.shape[1]):
            thing = which[given[first[i], a]]
            if met[thing] != i:
                met[thing] = i
                indices[i, count], similarities[i, count] = thing, cosines[first[i], a]
                count += 1


def among_distinct(known: Constraints, copy_of: NDArray[np.int64]) -> Constraints:
    """Return constraints on rows (n,) as constraints on the distinct things they show.

    >>> among_distinct(Constraints(np.array([0, 1, 0, 2]), np.array([[1, 2]])), np.array([0, 1, 2, 3]))
    Constraints(together=array([0, 1, 0, 2]), apart=array([[1, 2]]))
    """
    first = np.unique(known.together, return_index=True)[1]  # a row of each class
    root = connected(int(copy_of.max()) + 1, copy_of, copy_of[first[known.together]])
    _, together = np.unique(root, return_inverse=True)
    together = together.astype(np.int64, copy=False)
    return Constraints(together, np.unique(np.sort(together[copy_of[first[known.apart]]], axis=1), axis=0))
