"""The k smallest of many keys: a heap with the largest of them at its root, and its sorting.

A key comes with its row; of equal keys the one of the lower row is the smaller. numba's own partition and argsort take
eight seconds to compile, these functions one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel


@kernel()
def sift_down(
    at: int, size: int, key: np.float32, row: np.int32, keys: NDArray[np.float32], rows: NDArray[np.int32]
) -> None:
    """Put a key into the free place `at` of a heap of `size`, or below it, where no child is larger."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        right = child + 1
        if right < size and (keys[right] > keys[child] or (keys[right] == keys[child] and rows[right] > rows[child])):
            child = right
        if keys[child] < key or (keys[child] == key and rows[child] < row):
            break
        keys[at], rows[at] = keys[child], rows[child]
        at = child
    keys[at], rows[at] = key, row


@kernel()
def offer(key: np.float32, row: np.int32, count: int, keys: NDArray[np.float32], rows: NDArray[np.int32]) -> int:
    """Add a key to a list that has `count` of its len(keys) places filled, and return the new count.

    The list becomes a heap when it is full; from then on the new key replaces the largest, and must be smaller.
    """
    if count == len(keys):
        sift_down(0, count, key, row, keys, rows)
        return count
    keys[count], rows[count] = key, row
    count += 1
    if count == len(keys):
        for at in range(count // 2 - 1, -1, -1):
            sift_down(at, count, keys[at], rows[at], keys, rows)
    return count


@kernel()
def sort_heap(keys: NDArray[np.float32], rows: NDArray[np.int32]) -> None:
    """Sort a full heap in place, the smallest key first.

    >>> keys, rows = np.empty(2, np.float32), np.empty(2, np.int32)
    >>> count = 0
    >>> for row, key in enumerate(np.array([5, 3, 1], np.float32)):
    ...     count = offer(key, np.int32(row), count, keys, rows)
    >>> sort_heap(keys, rows)
    >>> keys, rows
    (array([1., 3.], dtype=float32), array([2, 1], dtype=int32))
    """
    for last in range(len(keys) - 1, 0, -1):
        key, row = keys[last], rows[last]
        keys[last], rows[last] = keys[0], rows[0]
        sift_down(0, last, key, row, keys, rows)
