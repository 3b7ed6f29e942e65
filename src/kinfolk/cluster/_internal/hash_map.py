"""A table from whole numbers to whole numbers for numba: open addressing, plain arrays, so that kernels are cached.

keys (c,) int64, -1 where a place is free; values (c,) int64, -1 for what was taken out; c a power of two.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

FREE = -1
GONE = -1
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: neighbouring keys land far apart

Table = tuple[NDArray[np.int64], NDArray[np.int64]]


@nb.njit(cache=True)
def new_table(entries: int) -> Table:
    """Return an empty table with room for that many entries before it has to grow.

    >>> keys, values = new_table(10)
    >>> len(keys)
    32
    """
    capacity = 16
    while capacity < 2 * entries:
        capacity *= 2
    return np.full(capacity, FREE, dtype=np.int64), np.full(capacity, GONE, dtype=np.int64)


@nb.njit(cache=True)
def place_of(keys: NDArray[np.int64], key: int) -> int:
    """Return where `key` is, or the free place where it belongs.

    >>> keys, values = new_table(10)
    >>> place = place_of(keys, 7)
    >>> keys[place], values[place] = 7, 70
    >>> int(values[place_of(keys, 7)])
    70
    """
    mask = len(keys) - 1
    place = np.int64((np.uint64(key) * SPREAD) >> np.uint64(20)) & mask
    while keys[place] != FREE and keys[place] != key:
        place = (place + 1) & mask
    return int(place)


@nb.njit(cache=True)
def grown(keys: NDArray[np.int64], values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the table without what was taken out, with room for as many entries again, and how many there are.

    >>> keys, values, used = grown(*new_table(10))
    >>> used
    0
    """
    living = int(np.sum(values != GONE))
    new_keys, new_values = new_table(2 * living + 8)
    for old in range(len(keys)):
        if values[old] != GONE:
            place = place_of(new_keys, keys[old])
            new_keys[place], new_values[place] = keys[old], values[old]
    return new_keys, new_values, living
