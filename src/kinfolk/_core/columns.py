"""Columns with one value a row: types and texts checked, labels numbered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError

INTEGER = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")


def integer_labels(texts: Sequence[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Turn texts into labels: numbers stay as they are, other texts are numbered in alphabetical order.

    >>> integer_labels(["7", "-1"])
    (array([ 7, -1]), ())
    >>> integer_labels(["cat", "dog", "cat"])
    (array([0, 1, 0]), ('cat', 'dog'))
    """
    # int() alone would take "1_23" and "12_3" for the same number, and numbers longer than 18 digits may not fit
    if all(INTEGER.fullmatch(t) for t in texts):
        return np.array([int(t) for t in texts], dtype=np.int64), ()
    names, numbers = np.unique(np.asarray(texts, dtype=np.str_), return_inverse=True)
    return numbers.astype(np.int64), tuple(str(n) for n in names)


def checked_column(name: str, value: ArrayLike, dtype: type, rows: int) -> NDArray[Any]:
    """Return a column of `rows` values as int64, bool or str; one of another type or length is refused.

    >>> checked_column("labels", [7.0, 8.0], np.int64, 2)
    array([7, 8])
    """
    column = value if isinstance(value, np.ndarray) else np.asarray(value)
    if column.dtype.kind == "O":
        raise InputError(f"{name} is an object array, which may hold anything: {dtype.__name__} was expected")
    if column.ndim != 1 or len(column) != rows:
        raise InputError(f"{name} must be one value a row: {rows} were expected, the shape is {column.shape}")
    kinds = {np.int64: "iu", np.bool_: "b", np.str_: "U"}[dtype]
    whole = (
        column.dtype.kind == "f"
        and dtype is np.int64
        and bool(np.all(np.isfinite(column) & (column == np.floor(column))))
    )
    if column.dtype.kind not in kinds and not whole:
        raise InputError(f"{name} must be {dtype.__name__}, not {column.dtype}")
    if dtype is np.int64 and column.dtype.kind in "uf" and rows and float(np.abs(column).max()) >= 2.0**63:
        raise InputError(f"{name}: row {np.abs(column).argmax()} is too large for a 64-bit integer")
    if dtype is np.str_:
        refuse_half_characters(name, column)
    return column.astype(dtype, copy=False)


def refuse_half_characters(name: str, texts: NDArray[np.str_]) -> None:
    """Refuse texts that no file can hold as UTF-8, such as those of file names in another encoding."""
    letters = np.ascontiguousarray(texts).view(np.uint32) if texts.dtype.itemsize else np.empty(0, dtype=np.uint32)
    halves = np.flatnonzero((letters >= 0xD800) & (letters <= 0xDFFF))
    if len(halves):
        row = halves[0] * len(texts) // len(letters)
        raise InputError(
            f"{name}: row {row} is {str(texts[row])!r}, which is not valid Unicode: it holds half a character"
        )
