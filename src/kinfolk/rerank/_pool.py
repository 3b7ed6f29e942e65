"""Queries and gallery as one pool of rows, every pair of them compared once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kinfolk._core.errors import InputError
from kinfolk._core.progress import progress
from kinfolk._core.threads import thread_count
from kinfolk.features import Matrix, as_matrix, unit_rows
from kinfolk.rerank._ranking import SPARE, forget_all_but, keep_best

KEPT_BYTES = 1 << 30  # products of queries and gallery beyond this are computed again instead of kept
STRIP_ROWS, TASK_COLUMNS, TASK_ROWS = 1024, 1024, 64
LANES = 64  # similarities looked at together


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
        asked, known = as_matrix(query), as_matrix(gallery)
        if asked.shape[1] != known.shape[1]:
            raise InputError(f"the queries have {asked.shape[1]} dimensions, the gallery {known.shape[1]}")
        self.n_queries, self.n_gallery = len(asked), len(known)
        self.unit = np.empty((len(self), known.shape[1]), dtype=np.float32)
        unit_rows(asked, out=self.query)
        unit_rows(known, out=self.gallery)
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

    def ask_instead(self, unit: NDArray[np.float32]) -> None:
        """Put other unit vectors in the place of the queries: (nq, d)."""
        self.query[:] = unit
        self._kept = None

    def similarities(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return the cosines of queries start to stop with the gallery, the caller's own: (stop - start, ng)."""
        if self._kept is not None:
            return self._kept[start:stop].copy()
        return self.query[start:stop] @ self.gallery.T

    def distances(self, start: int, stop: int) -> NDArray[np.float32]:
        """Return 1 - cosine of queries start to stop with the gallery, the caller's own: (stop - start, ng)."""
        similarities = self.similarities(start, stop)
        return np.subtract(np.float32(1), similarities, out=similarities).clip(0, 2, out=similarities)

    def neighbors(self, k: int) -> Neighbors:
        """Return the k nearest others of every row, or all others where there are fewer, by exact search.

        s_ij = <x_i, x_j> is computed for i <= j only, strip after strip, and offered to the lists of both: half of the
        operations of a search. One worker a core multiplies and offers: pools of BLAS and numba that take turns would
        wait for each other. The products of queries and gallery are kept for `similarities` if they fit into 1 GiB.

        Memory: 16 bytes a neighbour, a strip of 1024 rows, and what is kept.

        >>> Pool([[1, 0.0]], [[0, 2.0], [1, 1]]).neighbors(1).indices.ravel()
        array([2, 2, 0], dtype=int32)
        """
        n, nq = len(self), self.n_queries
        k = min(k, n - 1)
        lists = _Lists(
            np.empty((n, 2 * k + SPARE), dtype=np.float32),
            np.empty((n, 2 * k + SPARE), dtype=np.int32),
            np.zeros(n, dtype=np.int32),
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
                    self._compare(S, start, left, k, lists, workers)
                advance(stop - start)
        indices, similarities = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
        _finish(lists.keys, lists.rows, lists.counts, indices, similarities)
        return Neighbors(indices, similarities, lists.lowest)

    def _compare(
        self, S: NDArray[np.float32], start: int, left: int, k: int, lists: _Lists, workers: ThreadPoolExecutor
    ) -> None:
        """Fill S with the products of the rows from `start` on and those from `left` on; offer each to the other."""
        stop = start + S.shape[0]

        def some_columns(span: tuple[int, int]) -> None:
            part = S[:, span[0] : span[1]]
            np.matmul(self.unit[start:stop], self.unit[left + span[0] : left + span[1]].T, out=part)
            beyond = max(stop - left - span[0], 0)  # pairs of the strip's own rows are offered once, to the rows
            _offer_to_columns(part[:, beyond:], start, left + span[0] + beyond, k, *lists)

        def some_rows(span: tuple[int, int]) -> None:
            _offer_to_rows(S[span[0] : span[1]], start + span[0], left, k, *lists)

        list(workers.map(some_columns, _fair_spans(S.shape[1], TASK_COLUMNS)))
        list(workers.map(some_rows, _fair_spans(S.shape[0], TASK_ROWS)))


class _Lists(NamedTuple):
    """Candidates of each row while they are found: their keys and rows, how many, the k-th similarity, the lowest."""

    keys: NDArray[np.float32]
    rows: NDArray[np.int32]
    counts: NDArray[np.int32]
    worst: NDArray[np.float32]
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


@nb.njit(cache=True)
def _offer(similarity, other, row, k, keys, rows, counts, worst) -> None:  # type: ignore[no-untyped-def]
    """Write a neighbour down; keys are similarities below zero, so that the smallest is the best."""
    at = counts[row]
    keys[row, at], rows[row, at] = -similarity, other
    at += 1
    if at == keys.shape[1]:
        worst[row] = -forget_all_but(k, keys[row], rows[row])
        at = k
    counts[row] = at


@nb.njit(cache=True)
def _some_above(chunk, limit, lowest) -> bool:  # type: ignore[no-untyped-def]
    """Say if one of the similarities is above the limit, and lower `lowest` to them; (LANES,) each but the limit.

    Without a branch, and counted in four bytes: only so it becomes instructions for many at once.
    """
    above = np.int32(0)
    for lane in range(chunk.shape[0]):
        similarity = chunk[lane]
        above += np.int32(similarity > limit)
        lowest[lane] = similarity if similarity < lowest[lane] else lowest[lane]
    return bool(above > 0)


@nb.njit(cache=True)
def _some_above_theirs(chunk, limits, lowest) -> bool:  # type: ignore[no-untyped-def]
    """Do the same with a limit for each."""
    above = np.int32(0)
    for lane in range(chunk.shape[0]):
        similarity = chunk[lane]
        above += np.int32(similarity > limits[lane])
        lowest[lane] = similarity if similarity < lowest[lane] else lowest[lane]
    return bool(above > 0)


@nb.njit(nogil=True, cache=True)
def _offer_to_rows(S, first_row, first_column, k, keys, rows, counts, worst, lowest) -> None:  # type: ignore[no-untyped-def]
    """Offer the columns to the rows, all but each row itself."""
    lowest_here = np.empty(LANES, dtype=S.dtype)
    for i in range(S.shape[0]):
        row, line = first_row + i, S[i]
        lowest_here[:] = lowest[row]
        for left in range(0, len(line), LANES):
            chunk = line[left : left + LANES]
            if _some_above(chunk, worst[row], lowest_here):
                for j in range(len(chunk)):
                    other = first_column + left + j
                    if chunk[j] > worst[row] and other != row:
                        _offer(chunk[j], other, row, k, keys, rows, counts, worst)
        lowest[row] = lowest_here.min()


@nb.njit(nogil=True, cache=True)
def _offer_to_columns(S, first_row, first_column, k, keys, rows, counts, worst, lowest) -> None:  # type: ignore[no-untyped-def]
    """Offer the rows to the columns, LANES columns after the other."""
    for left in range(0, S.shape[1], LANES):
        tile = S[:, left : left + LANES]
        first = first_column + left
        limits, lowest_here = worst[first : first + LANES], lowest[first : first + LANES]
        for i in range(S.shape[0]):
            chunk = tile[i]
            if _some_above_theirs(chunk, limits[: len(chunk)], lowest_here):
                for j in range(len(chunk)):
                    if chunk[j] > limits[j]:
                        _offer(chunk[j], first_row + i, first + j, k, keys, rows, counts, worst)


@nb.njit(parallel=True, cache=True)
def _finish(keys, rows, counts, indices, similarities) -> None:  # type: ignore[no-untyped-def]
    k = indices.shape[1]
    for row in nb.prange(len(indices)):
        keep_best(keys[row], rows[row], counts[row], k)
        indices[row] = rows[row, :k]
        similarities[row] = -keys[row, :k]
