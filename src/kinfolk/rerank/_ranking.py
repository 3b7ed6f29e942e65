"""Ranking: for each query the gallery, best first, and how it is put together block by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import is_whole
from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel, over_spans
from kinfolk._core.progress import progress
from kinfolk.rerank._heap import offer, sort_heap

TOP = 100  # length of a list unless given: more than anybody looks at
BLOCK_BYTES = 64 << 20  # distances computed at a time: large enough for a fast product, small beside the features
Watch = Callable[[NDArray[np.int32]], None] | None


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """The best rows of the gallery for each query.

    Attributes
    ----------
    indices : (nq, top) int32, rows of the gallery, best first.
    distances : (nq, top) float32, rising; of equal distances the lower gallery row comes first.
    n_gallery : size of the gallery.
    settings : of the method, given or chosen.

    Examples
    --------
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
    watch: Watch = None,
) -> Ranking:
    """Rank the gallery for all queries from `distances(start, stop)`, a (stop - start, n_gallery) block.

    `watch` is called with the whole gallery in its order, (stop - start, n_gallery) int32, for each block: what scores
    need, while only `top` of it is kept.

    Memory: blocks of 64 MiB (two with `watch`) and the result; with top=None that is 8 bytes a pair.

    >>> rank_blocks(lambda start, stop: np.array([[3, 1, 2]], dtype=np.float32), 1, 3, 2, {}).indices
    array([[1, 2]], dtype=int32)
    """
    if top is not None and not is_whole(top):
        raise InputError(f"top must be a whole number from 1 on, or None for the whole gallery, not {top!r}")
    width = n_gallery if top is None else min(int(top), n_gallery)
    indices = np.empty((n_queries, width), dtype=np.int32)
    values = np.empty((n_queries, width), dtype=np.float32)
    step = max(1, BLOCK_BYTES // (4 * n_gallery))
    with progress("ranking", n_queries, show_progress) as advance:
        for start in range(0, n_queries, step):
            stop = min(start + step, n_queries)
            _rank_block(distances(start, stop), indices[start:stop], values[start:stop], watch)
            advance(stop - start)
    return Ranking(indices, values, n_gallery, settings)


def _rank_block(
    block: NDArray[np.float32], indices: NDArray[np.int32], values: NDArray[np.float32], watch: Watch
) -> None:
    """Write the smallest distances of each row, and their columns: (b, n) -> (b, top) twice."""
    top = indices.shape[1]
    if watch is None and 2 * top < block.shape[1]:
        over_spans(lambda first, last: _smallest(first, last, block, indices, values), len(block))
        return
    order = _order(block)
    indices[:] = order[:, :top]
    values[:] = np.take_along_axis(block, indices, axis=1)
    if watch is not None:
        watch(order)


def _order(block: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the columns of each row in the order of rising distances: (b, n) -> (b, n)."""
    order = np.empty(block.shape, dtype=np.int32)

    def sort(first: int, last: int) -> None:
        for q in range(first, last):
            order[q] = block[q].argsort(kind="stable")

    over_spans(sort, len(block))
    return order


@kernel()
def _smallest(
    first: int, last: int, block: NDArray[np.float32], indices: NDArray[np.int32], values: NDArray[np.float32]
) -> None:
    top = values.shape[1]
    for q in range(first, last):
        keys, rows, count = values[q], indices[q], 0
        for g in range(block.shape[1]):
            if count < top or block[q, g] < keys[0]:
                count = offer(block[q, g], np.int32(g), count, keys, rows)
        sort_heap(keys, rows)
