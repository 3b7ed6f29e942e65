"""Exact copies of rows, and what constraints say of distinct things; near copies are in `kinfolk.neighbors.copies`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster._internal.constraints import Constraints
from kinfolk.cluster._internal.union_find import connected


def free_rows(known: Constraints) -> NDArray[np.bool_]:
    """Return which rows (n,) no constraint keeps apart from others.

    >>> free_rows(Constraints(np.array([0, 1, 2]), np.array([[0, 2]])))
    array([False,  True, False])
    """
    return ~np.isin(known.together, known.apart)


def exact_copies(unit: NDArray[np.float32], known: Constraints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct row of (n, d) first stands (m,), and for each row which of them it is (n,).

    Rows that a constraint keeps apart from others stay as they are.

    >>> rows = np.array([[0, 1], [1, 0], [0, 1]], dtype=np.float32)
    >>> exact_copies(rows, Constraints(np.arange(3), np.empty((0, 2), dtype=np.int64)))
    (array([0, 1]), array([0, 1, 0]))
    """
    free = free_rows(known)
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
