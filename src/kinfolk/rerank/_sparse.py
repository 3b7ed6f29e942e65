"""Sparse vectors over the pool: a few columns of each row, with a value each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinfolk._core.kernels import kernel, over_spans


class SparseRows(NamedTuple):
    """Row i has columns[starts[i] : starts[i + 1]] with the values at the same places; no column twice in a row.

    Shapes: starts (n + 1,) int64, columns (e,) int32, values (e,) float32.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def of_sizes(cls, sizes: NDArray[np.int64]) -> SparseRows:
        """Return rows of these sizes (n,), their columns and values yet to be written."""
        starts = np.append(0, sizes.cumsum())
        return cls(starts, np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.float32))

    def inverted(self, first: int) -> SparseRows:
        """Return for each column the rows from `first` on that have it, counted from there: an inverted index.

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
    n, members = len(members), np.ascontiguousarray(members)
    sizes = np.zeros(n, dtype=np.int64)
    nothing = SparseRows.of_sizes(sizes)
    over_spans(lambda a, b: _sum_rows(a, b, *rows, members, np.float32(factor), sizes, *nothing, False), n)
    total = SparseRows.of_sizes(sizes)
    over_spans(lambda a, b: _sum_rows(a, b, *rows, members, np.float32(factor), sizes, *total, True), n)
    return total


@kernel()
def _sum_rows(
    first: int,
    last: int,
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    members: NDArray[np.int32],
    factor: np.float32,
    sizes: NDArray[np.int64],
    sum_starts: NDArray[np.int64],
    sum_columns: NDArray[np.int32],
    sum_values: NDArray[np.float32],
    write: bool,
) -> None:
    """Find the sizes of the sums of rows first..last - 1, or write the sums: one kernel, so that it compiles once."""
    n = len(starts) - 1
    seen, place = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int64)
    for i in range(first, last):
        end = sum_starts[i]
        for m in range(members.shape[1]):
            for e in range(starts[members[i, m]], starts[members[i, m] + 1]):
                column = columns[e]
                if seen[column] != i:
                    seen[column], place[column] = i, end
                    if write:
                        sum_columns[end], sum_values[end] = column, np.float32(0.0)
                    end += 1
                if write:
                    sum_values[place[column]] += factor * values[e]
        sizes[i] = end - sum_starts[i]
