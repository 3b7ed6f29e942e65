"""Tables in memory, of pandas, polars or pyarrow: told by what they can do, so that none of them is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.extras import require


def is_frame(X: object) -> bool:
    """Return whether X is a table with titles: a DataFrame of pandas or polars, a Table of pyarrow.

    >>> is_frame(np.eye(2)), is_frame([[1.0]])
    (False, False)
    """
    if not hasattr(X, "__len__"):  # a lazy table of polars has no length before it is collected
        return False
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def is_series(X: object) -> bool:
    """Return whether X is one column of such a table."""
    return hasattr(X, "to_numpy") and not is_frame(X) and not isinstance(X, np.ndarray)


def titles_of(frame: Any) -> list[Any]:
    """Return the titles of the columns, of whatever type they are."""
    return list(getattr(frame, "column_names", None) or frame.columns)


def column_of(frame: Any, place: int) -> Any:
    """Return one column as the package of the table has it."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place]
    return frame.to_series(place) if hasattr(frame, "to_series") else frame.column(place)


def cells_of(column: Any) -> list[Any]:
    """Return the cells of a column as objects of Python."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def values_of(column: Any, title: object = "") -> NDArray[Any]:
    """Return a column as an array: (n,), or (n, d) for a column of vectors; empty numbers become NaN."""
    array = np.asarray(column)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    cells = cells_of(column)
    first = next((cell for cell in cells if cell is not None), None)
    if isinstance(first, list | tuple | np.ndarray) or is_series(first):
        return _stacked([np.asarray(cell) for cell in cells], title)
    if first is not None and all(_is_number(cell) or is_missing(cell) for cell in cells):
        return np.array([np.nan if is_missing(cell) else cell for cell in cells], dtype=np.float64)
    return array


def matrix_of(frame: Any) -> NDArray[Any]:
    """Return a table of numbers, or of one column of vectors, as an array (n, d); InputError names another column."""
    titles = titles_of(frame)
    if hasattr(frame, "iloc") and len(titles) != 1:  # pandas has the whole at hand; others make numbers of truth values
        whole = np.asarray(frame)
        if whole.ndim == 2 and whole.dtype.kind in "fiu":
            return whole
    columns = [values_of(column_of(frame, place), title) for place, title in enumerate(titles)]
    for title, column in zip(titles, columns, strict=True):
        if column.dtype.kind not in "fiu" or (column.ndim != 1 and len(columns) > 1):
            what = "a column of vectors beside others" if column.ndim > 1 else "no numbers"
            raise InputError(
                f"column {title!r} holds {what}: features are columns of numbers, or one column of vectors alone; "
                "kf.FeatureSet.from_table(table) tells names, labels and features apart"
            )
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def is_missing(cell: object) -> bool:
    """Return whether a cell of a table holds nothing: None, or NA or NaT of pandas.

    >>> is_missing(None), is_missing(0)
    (True, False)
    """
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def index_of(frame: Any) -> list[str] | None:
    """Return the index of a pandas table as texts; None where there is none, or where it only counts the rows."""
    index = getattr(frame, "index", None)
    if not hasattr(frame, "iloc") or index is None:
        return None
    keys = list(index)
    return None if keys == list(range(len(keys))) else [str(key) for key in keys]


def pandas_frame(columns: Mapping[str, Sequence[Any] | NDArray[Any]], index: Sequence[str] | None) -> Any:
    """Return a DataFrame of pandas; the only place that imports it."""
    pandas = require("pandas", extra="pandas")
    return pandas.DataFrame(dict(columns), index=None if index is None else pandas.Index(index, name="id"))


def _stacked(vectors: list[NDArray[Any]], title: object) -> NDArray[Any]:
    shape = next(vector.shape for vector in vectors if vector.ndim == 1)
    for row, vector in enumerate(vectors):
        if vector.shape != shape:
            have = f"{len(vector)} values" if vector.ndim == 1 else "no vector"
            raise InputError(f"column {title!r}: row {row} has {have}, others have {shape[0]}")
    return np.stack(vectors)


def _is_number(cell: object) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool)
