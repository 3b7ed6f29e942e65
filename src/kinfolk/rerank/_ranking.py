"""Ranking: for each query the gallery, best first, and how it is put together block by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.progress import progress

TOP = 100
BLOCK_BYTES = 64 << 20
SPARE = 64  # places beyond k in a list of candidates: it is sorted only when they are full


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """The best rows of the gallery for each query.

    Shapes: indices (nq, top) int32, rows of the gallery; distances (nq, top) float32, rising; the lower gallery row
    comes first among equals. `n_gallery` is the size of the gallery, `settings` what the method used, chosen or given.

    >>> import kinfolk as kf
    >>> r = kf.rerank.cosine([[1, 0]], [[0, 1], [2, 0], [1, 1]])
    >>> r
    Ranking(1 queries, top 3 of 3)
    >>> r.indices
    array([[1, 2, 0]], dtype=int32)
    """

    indices: NDArray[np.int32]
    distances: NDArray[np.float32]
    n_gallery: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"Ranking({len(self):,} queries, top {self.indices.shape[1]:,} of {self.n_gallery:,})"


def rank_blocks(
    distances: Callable[[int, int], NDArray[np.float32]],
    n_queries: int,
    n_gallery: int,
    top: int | None,
    settings: Mapping[str, Any],
    show_progress: bool = True,
) -> Ranking:
    """Rank the gallery for all queries from `distances(start, stop)`, a (stop - start, n_gallery) block of its own.

    Memory: blocks of 64 MiB and the result; with top=None that is 8 bytes a pair.

    >>> rank_blocks(lambda start, stop: np.array([[3, 1, 2]], dtype=np.float32), 1, 3, 2, {}).indices
    array([[1, 2]], dtype=int32)
    """
    if top is not None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1):
        raise InputError(f"top must be a whole number from 1 on, or None for the whole gallery, not {top!r}")
    width = n_gallery if top is None else min(int(top), n_gallery)
    indices = np.empty((n_queries, width), dtype=np.int32)
    values = np.empty((n_queries, width), dtype=np.float32)
    step = max(1, BLOCK_BYTES // (4 * n_gallery))
    with progress("ranking", n_queries, show_progress) as advance:
        for start in range(0, n_queries, step):
            stop = min(start + step, n_queries)
            _best_first(distances(start, stop), indices[start:stop], values[start:stop])
            advance(stop - start)
    return Ranking(indices, values, n_gallery, settings)


@nb.njit(cache=True)
def keep_best(keys: NDArray[np.float32], rows: NDArray[np.int32], count: int, k: int) -> int:
    """Sort the first `count` candidates by key and forget all but the k smallest; equal keys stay in their order."""
    order = np.argsort(keys[:count], kind="mergesort")[:k]
    keys[: len(order)], rows[: len(order)] = keys[order], rows[order]
    return len(order)


@nb.njit(cache=True)
def forget_all_but(k: int, keys: NDArray[np.float32], rows: NDArray[np.int32]) -> np.float32:
    """Move the k smallest keys to the front, the first among equals, in their order, and return the largest of them.

    >>> keys, rows = np.float32([5, 1, 3, 3]), np.int32([0, 1, 2, 3])
    >>> forget_all_but(2, keys, rows), rows[:2]
    (3.0, array([1, 2], dtype=int32))
    """
    last = np.partition(keys, k - 1)[k - 1]
    equal = k
    for key in keys:
        equal -= key < last
    at = 0
    for place in range(len(keys)):
        if keys[place] < last or (keys[place] == last and equal > 0):
            equal -= keys[place] == last
            keys[at], rows[at] = keys[place], rows[place]
            at += 1
    return last


@nb.njit(parallel=True, cache=True)
def _best_first(distances: NDArray[np.float32], indices: NDArray[np.int32], values: NDArray[np.float32]) -> None:
    """Write the smallest distances of each row, and where they are: (b, n) -> (b, top) twice."""
    n, top = distances.shape[1], indices.shape[1]
    for q in nb.prange(len(distances)):
        row = distances[q]
        if 2 * top >= n:
            order = np.argsort(row, kind="mergesort")[:top]
            indices[q], values[q] = order, row[order]
            continue
        keys = np.empty(2 * top + SPARE, dtype=np.float32)
        rows = np.empty(2 * top + SPARE, dtype=np.int32)
        count, worst = 0, np.float32(np.inf)
        for g in range(n):
            if row[g] < worst or count < top:
                keys[count], rows[count] = row[g], g
                count += 1
                if count == len(keys):
                    worst = forget_all_but(top, keys, rows)
                    count = top
        keep_best(keys, rows, count, top)
        indices[q], values[q] = rows[:top], keys[:top]
