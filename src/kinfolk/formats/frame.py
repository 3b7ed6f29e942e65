"""Tables in memory (pandas, polars, pyarrow) as a FeatureSet: the titles mean what they mean in a csv file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk._core.frames import cells_of, column_of, index_of, is_frame, titles_of, values_of
from kinfolk.features import FeatureSet
from kinfolk.formats._cells import set_of_cells
from kinfolk.formats._columns import Asked, Kind, choose_columns


def read_frame(table: Any, asked: Asked | None = None) -> FeatureSet:
    """Return the set of a table; the index of pandas is the names, unless a column has them or it is 0, 1, ..."""
    if not is_frame(table):
        raise InputError(f"a table of pandas, polars or pyarrow was expected, not {type(table).__name__}")
    titles = titles_of(table)
    arrays = [values_of(column_of(table, place), title) for place, title in enumerate(titles)]
    columns = choose_columns([str(title) for title in titles], list(map(_kind, arrays)), asked)
    if len(table) == 0:
        raise InputError("the table has no rows")
    chosen = [arrays[place] for place in columns.features]
    features = np.column_stack(chosen).astype(np.float32, copy=False)
    known = {name: cells_of(column_of(table, place)) for name, place in columns.known.items()}
    fs = set_of_cells(columns, features, known)
    index = index_of(table) if fs.names is None else None
    if index is None:
        return fs
    line, colon, rest = fs.taken_from.partition("; left out")
    return replace(fs, names=np.array(index, dtype=np.str_), taken_from=f"{line}, names from the index{colon}{rest}")


def _kind(array: np.ndarray) -> Kind:
    if array.dtype.kind not in "fiu":
        return "other"
    return "number" if array.ndim == 1 else "vector"
