"""Queries and gallery as one pool of rows, every pair of them compared once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel, over_spans
from kinfolk._core.progress import progress
from kinfolk._core.threads import thread_count
from kinfolk.features import Matrix, as_matrix, unit_rows
from kinfolk.rerank._heap import offer, sort_heap

KEPT_BYTES = 1 << 30  # products of queries and gallery beyond this are computed again instead of kept
STRIP_ROWS = 1024  # rows of a product: fewer make it slower, more take memory
TASK_COLUMNS, TASK_ROWS = 1024, 64  # about what a worker multiplies, and offers to its rows, at a time
LANES = 64  # similarities compared with their limits together, by vector instructions


class Neighbors(NamedTuple):
    """For each row of the pool its nearest others, best first, and the similarity of the row least like it.

    Shapes: indices (n, k) int32, similarities (n, k) float32, lowest (n,) float32; the row itself is left out.
    """

    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]
    lowest: NDArray[np.float32]


class Pool:
    """Unit vectors of the queries, then of the gallery: (nq + ng, d).

    >>> pool = Pool([[3, 0.0]], [[0, 2.0], [1, 1]])
    >>> len(pool), pool.n_queries, pool.n_gallery
    (3, 1, 2)
    >>> pool.similarities(0, 1).round(2)
    array([[0.  , 0.71]], dtype=float32)
    """

    def __init__(self, query: Matrix, gallery: Matrix, show_progress: bool = True) -> None:
        (self.n_queries, query_dim), (self.n_gallery, dim) = as_matrix(query).shape, as_matrix(gallery).shape
        if query_dim != dim:
            raise InputError(f"the queries have {query_dim} dimensions, the gallery {dim}")
        self.unit = np.empty((len(self), dim), dtype=np.float32)
        for rows, place in ((query, self.query), (gallery, self.gallery)):
            unit = unit_rows(rows, out=place)
            if unit is not place:  # rows that were of length one already
                place[:] = unit
        self.show_progress = show_progress
        self._kept: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return self.n_queries + self.n_gallery

    @property
    def query(self) -> NDArray[np.float32]:
        """The unit vectors of the queries: (nq, d)."""
        return self.unit[: self.n_queries]

    @property
    def gallery(self) -> NDArray[np.float32]:
        """The unit vectors of the gallery: (ng, d)."""
        return self.unit[self.n_queries :]

    def replace_queries(self, unit: NDArray[np.float32]) -> None:
        """Put other unit vectors in the place of the queries: (nq, d)."""
        self.query[:] = unit
        self._kept = None

    def similarities(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return the cosines of queries start to stop with the gallery, as a new array: (stop - start, ng)."""
        if self._kept is not None:
            return self._kept[start:stop].copy()
        return self.query[start:stop] @ self.gallery.T

    def distances(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return 1 - cosine of queries start to stop with the gallery, as a new array: (stop - start, ng)."""
        similarities = self.similarities(start, stop)
        return np.subtract(np.float32(1), similarities, out=similarities).clip(0, 2, out=similarities)

    def neighbors(self, k: int) -> Neighbors:
        """Return the k nearest others of every row, or all others where there are fewer, by exact search.

        s_ij = <x_i, x_j> is computed for i <= j only, strip after strip, and offered to the lists of both: half of the
        operations of a search. Each core has one worker that multiplies and offers: thread pools of BLAS and numba
        that alternate would wait for each other. Products of queries and gallery are kept for `similarities` if they
        fit into 1 GiB.

        Memory: 8 bytes a neighbour, a strip of 1024 rows, and what is kept.

        >>> Pool([[1, 0.0]], [[0, 2.0], [1, 1]]).neighbors(1).indices.ravel()
        array([2, 2, 0], dtype=int32)
        """
        n, nq = len(self), self.n_queries
        k = min(k, n - 1)
        lists = _Lists(
            np.empty((n, k), dtype=np.float32),
            np.empty((n, k), dtype=np.int32),
            np.zeros(n, dtype=np.int64),
            np.full(n, -np.inf, dtype=np.float32),
            np.ones(n, dtype=np.float32),
        )
        if self._kept is None and 4 * nq * self.n_gallery <= KEPT_BYTES:
            self._kept = np.empty((nq, self.n_gallery), dtype=np.float32)
        strip = np.empty(min(STRIP_ROWS, n) * n, dtype=np.float32)
        with (
            progress("neighbours", n, self.show_progress) as advance,
            threadpool_limits(1, user_api="blas"),
            ThreadPoolExecutor(thread_count()) as workers,
        ):
            for start, stop in _spans(0, n, STRIP_ROWS, nq):
                for left, right in _spans(start, n, n, nq):
                    S = strip[: (stop - start) * (right - left)].reshape(stop - start, right - left)
                    if start < nq <= left and self._kept is not None:
                        S = self._kept[start:stop]
                    self._compare(S, start, left, lists, workers)
                advance(stop - start)
        over_spans(lambda first, last: _sort_lists(first, last, lists.keys, lists.rows), n)
        return Neighbors(lists.rows, np.negative(lists.keys, out=lists.keys), lists.lowest)

    def _compare(
        self, S: NDArray[np.float32], start: int, left: int, lists: _Lists, workers: ThreadPoolExecutor
    ) -> None:
        """Fill S with the products of the rows from `start` on and those from `left` on; add each to both lists."""
        stop = start + S.shape[0]

        def to_columns(span: tuple[int, int]) -> None:
            np.matmul(self.unit[start:stop], self.unit[left + span[0] : left + span[1]].T, out=S[:, span[0] : span[1]])
            beyond = max(stop - left, span[0])  # pairs of the strip's own rows are offered once, by `to_rows`
            _offer_to_columns(S, beyond, span[1], start, left, *lists)

        def to_rows(span: tuple[int, int]) -> None:
            _offer_to_rows(S, span[0], span[1], start, left, *lists)

        list(workers.map(to_columns, _fair_spans(S.shape[1], TASK_COLUMNS)))
        list(workers.map(to_rows, _fair_spans(S.shape[0], TASK_ROWS)))


class _Lists(NamedTuple):
    """The nearest so far of each row: heaps of negative similarities and of rows, (n, k) each; and (n,) each their
    sizes, the similarity that a new one must exceed, the lowest similarity of all.
    """

    keys: NDArray[np.float32]
    rows: NDArray[np.int32]
    sizes: NDArray[np.int64]
    limits: NDArray[np.float32]
    lowest: NDArray[np.float32]


def _spans(start: int, stop: int, step: int, border: int) -> list[tuple[int, int]]:
    """Cut start..stop into pieces of at most `step`, none across the border."""
    cuts = [start, *range(start + step, min(border, stop), step)]
    first = max(start, min(border, stop))
    cuts += [*range(first, stop, step), stop]
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def _fair_spans(size: int, step: int) -> list[tuple[int, int]]:
    """Cut 0..size into equal pieces of about `step`, as many for each worker."""
    rounds = max(1, round(size / (step * thread_count())))
    cuts = np.linspace(0, size, rounds * thread_count() + 1).astype(int).tolist()
    return [(a, b) for a, b in pairwise(cuts) if a < b]


@kernel()
def _offer(similarity, other, row, keys, rows, sizes, limits) -> None:  # type: ignore[no-untyped-def]
    """Add a neighbour to the list of a row."""
    sizes[row] = offer(-similarity, np.int32(other), sizes[row], keys[row], rows[row])
    if sizes[row] == keys.shape[1]:
        limits[row] = -keys[row, 0]


@kernel()
def _any_above(similarities, limits, lowest) -> bool:  # type: ignore[no-untyped-def]
    """Return whether a similarity is above its limit, and lower `lowest` to the similarities: (LANES,) each.

    Without a branch, and counted in four bytes: only so it becomes instructions for many at once.
    """
    above = np.int32(0)
    for lane in range(len(similarities)):
        similarity = similarities[lane]
        above += np.int32(similarity > limits[lane])
        lowest[lane] = similarity if similarity < lowest[lane] else lowest[lane]
    return bool(above > 0)


@kernel()
def _offer_to_rows(S, first, last, first_row, first_column, keys, rows, sizes, limits, lowest) -> None:  # type: ignore[no-untyped-def]
    """Add the columns to the lists of the rows first..last - 1 of S, all but each row itself."""
    limits_here, lowest_here = np.empty(LANES, dtype=np.float32), np.empty(LANES, dtype=np.float32)
    for i in range(first, last):
        row = first_row + i
        for lane in range(LANES):
            limits_here[lane], lowest_here[lane] = limits[row], lowest[row]
        for left in range(0, S.shape[1], LANES):
            right = min(left + LANES, S.shape[1])
            if _any_above(S[i, left:right], limits_here, lowest_here):
                for j in range(left, right):
                    if S[i, j] > limits[row] and first_column + j != row:
                        _offer(S[i, j], first_column + j, row, keys, rows, sizes, limits)
                for lane in range(LANES):
                    limits_here[lane] = limits[row]
        for lane in range(LANES):
            lowest[row] = min(lowest[row], lowest_here[lane])


@kernel()
def _offer_to_columns(S, first, last, first_row, first_column, keys, rows, sizes, limits, lowest) -> None:  # type: ignore[no-untyped-def]
    """Add the rows to the lists of the columns first..last - 1 of S, LANES columns at a time."""
    for left in range(first, last, LANES):
        right = min(left + LANES, last)
        limits_here = limits[first_column + left : first_column + right]
        lowest_here = lowest[first_column + left : first_column + right]
        for i in range(S.shape[0]):
            if _any_above(S[i, left:right], limits_here, lowest_here):
                for j in range(left, right):
                    if S[i, j] > limits_here[j - left]:
                        _offer(S[i, j], first_row + i, first_column + j, keys, rows, sizes, limits)


@kernel()
def _sort_lists(first: int, last: int, keys: NDArray[np.float32], rows: NDArray[np.int32]) -> None:
    for row in range(first, last):
        sort_heap(keys[row], rows[row])
