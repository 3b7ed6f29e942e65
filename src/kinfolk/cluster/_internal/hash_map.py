"""A hash map from whole numbers to whole numbers for numba: open addressing in plain arrays, so kernels can be cached.

keys (c,) int64, EMPTY where a slot is unused; values (c,) int64, DELETED for entries that were removed; c a power of
two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel

EMPTY = -1
DELETED = -1
HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: consecutive keys get distant slots

HashMap = tuple[NDArray[np.int64], NDArray[np.int64]]


@kernel()
def new_hash_map(entries: int) -> HashMap:
    """Return an empty map with room for that many entries before it has to grow.

    >>> keys, values = new_hash_map(10)
    >>> len(keys)
    32
    """
    capacity = 16
    while capacity < 2 * entries:
        capacity *= 2
    keys, values = (np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64))
    for slot in range(capacity):
        keys[slot], values[slot] = EMPTY, DELETED
    return keys, values


@kernel()
def slot_of(keys: NDArray[np.int64], key: int) -> int:
    """Return the slot of `key`, or the empty slot where it belongs.

    >>> keys, values = new_hash_map(10)
    >>> slot = slot_of(keys, 7)
    >>> keys[slot], values[slot] = 7, 70
    >>> int(values[slot_of(keys, 7)])
    70
    """
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * HASH_MULTIPLIER) >> np.uint64(20)) & mask
    while keys[slot] != EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel()
def rehashed(keys: NDArray[np.int64], values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the map without its deleted entries, with room for twice as many, and the number of entries.

    >>> keys, values, used = rehashed(*new_hash_map(10))
    >>> used
    0
    """
    entries = 0
    for value in values:
        entries += value != DELETED
    new_keys, new_values = new_hash_map(2 * entries + 8)
    for old in range(len(keys)):
        if values[old] != DELETED:
            slot = slot_of(new_keys, keys[old])
            new_keys[slot], new_values[slot] = keys[old], values[old]
    return new_keys, new_values, entries
