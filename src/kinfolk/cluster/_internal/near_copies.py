r"""Near copies: rows so much nearer to each other than neighbours are that they are one thing seen twice.

    |x_i - x_j| <= 0.2 median over rows of the distance to the 64th neighbour,     closed by chains of such pairs

Bursts of photos and placeholders fill each other's neighbourhoods, and their number would pass for the size of a class.
Where classes are larger than 64 rows the 64th neighbour is kin itself, and still the limit is far below the distance of
two rows of a class, unless they are copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster._internal.constraints import Constraints
from kinfolk.cluster._internal.union_find import connected
from kinfolk.features import UnitRows
from kinfolk.neighbors import NeighborGraph, knn_graph

NEIGHBORS = 64
SHARE_OF_DISTANCE = 0.2  # chosen on the bursts of the training parts: 0.1 misses copies, 0.3 joins lookalikes
ROUNDING = 1e-3  # distance of two exact copies whose cosine is rounded in float32


class Copies(NamedTuple):
    """Which rows show the same thing.

    Attributes
    ----------
    of : (n,) the thing of each row, numbered 0, 1, 2, ... by their first rows.
    rows : (m,) the first row of each.
    graph : the 64 nearest among these rows.
    distance : up to which rows count as copies.
    """

    of: NDArray[np.int64]
    rows: NDArray[np.int64]
    graph: NeighborGraph
    distance: float


def near_copies(unit: NDArray[np.float32], known: Constraints) -> Copies | None:
    """Return the distinct things among rows (n, d) of length one; None where all are exact copies of one row.

    Rows that a constraint keeps apart from others stay as they are.

    >>> free = Constraints(np.arange(5), np.empty((0, 2), dtype=np.int64))
    >>> near_copies(np.repeat(np.eye(3, dtype=np.float32), [1, 3, 1], axis=0), free).of
    array([0, 1, 1, 1, 2])
    """
    free = ~np.isin(known.together, known.apart)
    rows, of = _exact_copies(unit, free)
    if len(rows) == 1:
        return None
    g = _nearest(unit[rows])
    far = np.sqrt(np.maximum(2 - 2 * np.asarray(g.similarities[:, -1]), 0))
    distance = max(SHARE_OF_DISTANCE * float(np.median(far)), ROUNDING)
    row, place = np.nonzero(2 - 2 * np.asarray(g.similarities) <= distance**2)
    other = np.asarray(g.indices)[row, place]
    both = free[rows[row]] & free[rows[other]]
    _, first, number = np.unique(connected(len(rows), row[both], other[both]), return_index=True, return_inverse=True)
    if 1 < len(first) < len(rows):
        g = _nearest(unit[rows[first]])
    return Copies(number[of].astype(np.int64, copy=False), rows[first], g, distance)


def _nearest(unit: NDArray[np.float32]) -> NeighborGraph:
    return knn_graph(UnitRows(unit), min(NEIGHBORS, len(unit) - 1))


def _exact_copies(unit: NDArray[np.float32], free: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct row of (n, d) first stands (m,), and for each row which of them it is (n,).

    >>> rows = np.array([[0, 1], [1, 0], [0, 1]], dtype=np.float32)
    >>> _exact_copies(rows, np.ones(3, dtype=bool))
    (array([0, 1]), array([0, 1, 0]))
    """
    whole = np.ascontiguousarray(unit + np.float32(0))  # -0 is 0
    texts = whole.view(np.dtype((np.void, whole.shape[1] * whole.itemsize))).ravel()  # compared as bytes: no floats
    _, first, which = np.unique(texts, return_index=True, return_inverse=True)
    seen = first[which]
    kept_apart = ~(free & free[seen])
    _, first, which = np.unique(
        np.where(kept_apart, np.arange(len(unit)), seen), return_index=True, return_inverse=True
    )
    return first, which


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
