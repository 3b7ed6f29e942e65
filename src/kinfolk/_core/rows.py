"""Rows of numbers: read in blocks, checked, and divided by their lengths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError

CACHED_BYTES = 1 << 20  # size of a block that stays in the processor's cache while it is checked and normalised
BLOCK_BYTES = 64 << 20  # size of the blocks in which memory-mapped features are read: little beside their gigabytes
SHORT = 1e-6  # rounding error of a row that equals the mean: after subtracting it, such a row has no direction


def blocks(matrix: NDArray[Any], block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first row, block of rows) of a matrix that may be larger than memory.

    >>> [(start, len(block)) for start, block in blocks(np.ones((5, 2)), block_bytes=16)]
    [(0, 2), (2, 2), (4, 1)]
    """
    rows = max(1, block_bytes // (4 * matrix.shape[1]))
    for start in range(0, len(matrix), rows):
        yield start, matrix[start : start + rows]


def check_rows(block: NDArray[Any], first_row: int = 0) -> None:
    """Raise InputError with the number of the first row that is zero or not finite."""
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        kind = "NaN" if np.isnan(block[bad[0]]).any() else "an infinite value"
        raise InputError(f"features: row {first_row + bad[0]} has {kind}{_more(bad)}; remove or repair such rows")
    zero = np.flatnonzero(~block.any(axis=1))
    if len(zero):
        raise InputError(
            f"features: row {first_row + zero[0]} is a zero vector{_more(zero)}, which has no direction to compare;"
            " remove such rows"
        )


def normalise(block: NDArray[Any], out: NDArray[np.float32]) -> None:
    """Write the rows of a block, divided by their lengths, into `out`.

    >>> unit = np.empty((1, 2), dtype=np.float32)
    >>> normalise(np.array([[3.0, 4.0]]), unit)
    >>> unit
    array([[0.6, 0.8]], dtype=float32)
    """
    values = block if block.dtype in (np.float32, np.float64) else block.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", values, values, dtype=np.float64)
    if not (squares.min() > 1e-30 and squares.max() < 1e30):
        # dividing by the largest value first keeps the squares of tiny and of huge numbers inside the range of floats
        values = block / np.abs(block).max(axis=1, keepdims=True).astype(np.float64)
        squares = np.einsum("ij,ij->i", values, values)
    np.divide(values, np.sqrt(squares).astype(values.dtype)[:, None], out=out, casting="same_kind")


def of_length_one(X: NDArray[np.float32], instead: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return the rows divided by their lengths; rows shorter than 1e-6 are replaced by those of `instead`, if given.

    >>> of_length_one(np.array([[0, 2], [0, 0]], dtype=np.float32), instead=np.eye(2, dtype=np.float32)).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit if instead is None else np.where(lengths > SHORT, unit, instead)


def _more(bad: NDArray[np.int64]) -> str:
    return f" (and {len(bad) - 1} more in this block)" if len(bad) > 1 else ""
