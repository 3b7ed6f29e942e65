"""Sparse vectors over the pool: rows that name a few others, with a weight each."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

TASKS = 64  # pieces of the rows that workers take; each has a scratch array over the pool


class SparseRows(NamedTuple):
    """Row i names columns[starts[i] : starts[i + 1]] with the values at the same places; no column twice in a row.

    Shapes: starts (n + 1,) int64, columns (e,) int32, values (e,) float32.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]

    def inverted(self, first: int) -> SparseRows:
        """Return for each column the rows from `first` on that name it, counted from there: an inverted index.

        >>> rows = SparseRows(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), np.array([5, 6, 7], np.float32))
        >>> rows.inverted(first=1).starts, rows.inverted(first=1).values
        (array([0, 1, 2]), array([6., 7.], dtype=float32))
        """
        begin, n = self.starts[first], len(self.starts) - 1
        rows = sparse.csr_array(
            (self.values[begin:], self.columns[begin:], self.starts[first:] - begin), shape=(n - first, n)
        )
        lists = rows.tocsc()
        return SparseRows(lists.indptr.astype(np.int64), lists.indices.astype(np.int32, copy=False), lists.data)


def add_rows(rows: SparseRows, members: NDArray[np.int32], factor: float) -> SparseRows:
    """Return in row i the sum of the rows members[i], times `factor`; a member that comes twice counts twice.

    Shapes: rows (n, n) sparse, members (n, m)  ->  (n, n) sparse.

    >>> rows = SparseRows(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([1, 1], np.float32))
    >>> add_rows(rows, np.array([[0, 1], [1, 1]], np.int32), 0.5).values
    array([0.5, 0.5, 1. ], dtype=float32)
    """
    counts = np.zeros(len(members) + 1, dtype=np.int64)
    _count_sums(rows, members, counts)
    starts = counts.cumsum()
    total = SparseRows(starts, np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.float32))
    _write_sums(rows, members, np.float32(factor), total)
    return total


@nb.njit(cache=True)
def task_rows(task: int, n: int) -> tuple[int, int]:
    """Return the first row of a task and the row after its last."""
    return task * n // TASKS, (task + 1) * n // TASKS


@nb.njit(parallel=True, cache=True)
def _count_sums(rows: SparseRows, members: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    n = len(members)
    starts, columns = rows.starts, rows.columns  # workers take arrays, not tuples of them
    for task in nb.prange(TASKS):
        seen = np.full(n, -1, dtype=np.int32)
        first, last = task_rows(task, n)
        for i in range(first, last):
            for member in members[i]:
                for e in range(starts[member], starts[member + 1]):
                    if seen[columns[e]] != i:
                        seen[columns[e]] = i
                        counts[i + 1] += 1


@nb.njit(parallel=True, cache=True)
def _write_sums(rows: SparseRows, members: NDArray[np.int32], factor: np.float32, total: SparseRows) -> None:
    n = len(members)
    starts, columns, values = rows
    sum_starts, sum_columns, sum_values = total
    for task in nb.prange(TASKS):
        place = np.full(n, -1, dtype=np.int64)  # of a column in the sum; before the row's start: not yet there
        first, last = task_rows(task, n)
        for i in range(first, last):
            end = sum_starts[i]
            for member in members[i]:
                for e in range(starts[member], starts[member + 1]):
                    column = columns[e]
                    if place[column] < sum_starts[i]:
                        place[column] = end
                        sum_columns[end], sum_values[end] = column, np.float32(0.0)
                        end += 1
                    sum_values[place[column]] += factor * values[e]
