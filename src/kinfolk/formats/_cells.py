"""A FeatureSet of the cells of a table, whichever types they came in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.frames import is_missing
from kinfolk.features import FeatureSet
from kinfolk.formats._columns import Columns, refuse_row_numbers
from kinfolk.formats._common import assemble, labels_from_texts, number_parts, text_array


def set_of_cells(
    columns: Columns,
    features: NDArray[Any],
    cells: Mapping[str, Sequence[Any]],
    part_names: Sequence[str] = (),
    label_names: Sequence[str] = (),
) -> FeatureSet:
    """Return the set of features (n, d) and, for each of `columns.known`, its n cells; None or NaN is an empty one.

    >>> from kinfolk.formats._columns import choose_columns
    >>> table = choose_columns(["id", "f0", "f1"], ["number", "number", "number"])
    >>> fs = set_of_cells(table, np.eye(2), {"names": [7, 9]})
    >>> fs.names.tolist(), fs.taken_from
    (['7', '9'], '2 features (f0, f1), names from id')
    """
    refuse_row_numbers(columns, features)
    found: dict[str, NDArray[Any]] = {}
    for name, values in cells.items():
        column = [None if _is_empty(cell) else cell for cell in values]
        if name == "labels" and all(cell is None or isinstance(cell, Real) for cell in column):
            # pandas writes an integer column with gaps as floats with NaN
            found[name] = np.array([-1 if cell is None else +cell for cell in column])  # +True is 1
        elif name == "labels":
            found[name], label_names = labels_from_texts(list(map(_text, column)))
        elif name == "names":
            found[name] = text_array(list(map(_text, column)))
        elif None in column:
            raise InputError(f"the {name} of row {column.index(None)} are empty")
        elif name == "part":
            found[name], part_names = number_parts(list(map(_text, column)), part_names)
        elif name == "query" and set(column) <= {0, 1}:  # True == 1
            found[name] = np.array(column, dtype=np.bool_)
        else:
            found[name] = np.array(column)
    enhanced = found.pop("enhanced", False)
    fs = assemble(features, found, part_names, label_names, enhanced)
    return replace(fs, taken_from=columns.describe(fs.dim))


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, Real) and math.isnan(cell))


def _text(cell: Any) -> str:
    """Return a cell as text; 7.0 is "7", since a gap makes floats of whole numbers."""
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float | np.floating) and float(cell).is_integer() else str(cell)
