"""Labels as numbers from 0, whatever the classes are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError


def numbered(labels: ArrayLike, rows: int | None = None) -> NDArray[np.int64]:
    """Number labels from 0 in their sorted order; unknown ones, below zero or an empty text, become -1.

    Labels are whole numbers or texts, one for each of `rows` rows. Shapes: (n,) -> (n,) int64.

    >>> numbered(["dog", "cat", "", "dog"])
    array([ 1,  0, -1,  1])
    >>> numbered([70, -3, 8])
    array([ 1, -1,  0])
    """
    values = np.asarray(labels)
    if values.ndim != 1 or rows not in (None, len(values)):
        needed = "" if rows is None else f": {rows:,} rows need as many labels"
        raise InputError(f"one label a row was expected{needed}, the shape is {values.shape}")
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        values = values.astype(np.str_)
    if values.dtype.kind in "US":
        return _sorted_numbers(values, values != values.dtype.type())
    if values.dtype.kind == "f" and np.all(np.isfinite(values) & (values == np.floor(values))):
        return _sorted_numbers(values, values >= 0)
    if values.dtype.kind not in "biu":
        raise InputError(f"labels must be whole numbers or texts, not {values.dtype}")
    highest = int(values.max(initial=0))
    if highest > 4 * len(values) + 1024:  # the table would be larger than the labels
        return _sorted_numbers(values, values >= 0)
    return _numbers_by_table(values.astype(np.int64, copy=False), highest + 1)


def half_of(labels: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """Return a mask of the rows of one half of the identities, drawn with the seed.

    >>> mask = half_of(np.array([3, 3, 5, 5]), seed=0)
    >>> bool(mask[0] == mask[1] != mask[2])
    True
    """
    identities = np.unique(labels)
    chosen = np.random.default_rng(seed).permutation(identities)[: len(identities) // 2]
    return np.isin(labels, chosen)


def _sorted_numbers(values: NDArray, known: NDArray[np.bool_]) -> NDArray[np.int64]:
    numbers = np.full(len(values), -1, dtype=np.int64)
    numbers[known] = np.unique(values[known], return_inverse=True)[1]
    return numbers


def _numbers_by_table(values: NDArray[np.int64], span: int) -> NDArray[np.int64]:
    """Number labels below `span` without sorting: mark those that occur, count them, look each row up."""
    places = np.maximum(values, -1)  # -1, the last place of the table: unknown
    occurs = np.zeros(span + 1, dtype=np.int64)
    occurs[places] = 1
    number = np.cumsum(occurs) - 1
    number[-1] = -1
    return number[places]
