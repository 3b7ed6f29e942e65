"""Tables of pyarrow, the one place that imports it: parquet, arrow and feather files are read through them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.extras import require
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet
from kinfolk.formats._cells import set_of_cells
from kinfolk.formats._columns import Columns, Kind

CELL_BYTES = 64  # of a value as a Python object, with its place in the list


def pyarrow(part: str | None = None) -> ModuleType:
    """Return pyarrow or one of its modules, or raise MissingExtraError."""
    return require("pyarrow" if part is None else f"pyarrow.{part}", extra="parquet")


def set_of_table(
    table: Any, columns: Columns, part_names: tuple[str, ...] = (), label_names: tuple[str, ...] = ()
) -> FeatureSet:
    """Return the set of a table that holds at least the chosen columns."""
    if table.num_rows == 0:
        raise InputError("the table has no rows")
    table.validate(full=True)
    features = _features(table, columns)
    cells = {name: cells_of(table.column(columns.titles[place])) for name, place in columns.known.items()}
    return set_of_cells(columns, features, cells, part_names=part_names, label_names=label_names)


def cells_of(column: Any) -> list[Any]:
    """Return the values of a column; texts that are stored once and repeated may be far larger than their file."""
    if pyarrow().types.is_run_end_encoded(column.type):
        raise InputError(f"columns of the type {column.type} are not read")
    needed = CELL_BYTES * len(column) + sum(_repeated_bytes(chunk) for chunk in column.chunks)
    refuse_more_than_memory(needed, "its texts")
    return column.to_pylist()


def _repeated_bytes(chunk: Any) -> int:
    """Return the size of the texts of a chunk where rows may share one: in a dictionary, or by views."""
    pa, pc = pyarrow(), pyarrow("compute")
    if pa.types.is_dictionary(chunk.type) and pa.types.is_string(chunk.type.value_type):
        return pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
    if pa.types.is_string_view(chunk.type):  # a view is four numbers, of which the first is the length
        views = np.frombuffer(chunk.buffers()[1], dtype=np.int32)[::4][chunk.offset :][: len(chunk)]
        return int(views.sum(dtype=np.int64))
    return 0


def kind_of(kind: Any) -> Kind:
    """Return what a column of this arrow type may be."""
    pa = pyarrow()
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return "number"
    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    return "vector" if any(a(kind) for a in lists) and kind_of(kind.value_type) == "number" else "other"


def _features(table: Any, columns: Columns) -> NDArray[Any]:
    titles = [columns.titles[place] for place in columns.features]
    if columns.is_vector:
        return _list_features(table.column(titles[0]), titles[0])
    features = np.empty((table.num_rows, len(titles)), dtype=np.float32)
    for place, title in enumerate(titles):
        features[:, place] = _numbers(table.column(title), title)
    return features


def _list_features(column: Any, title: str) -> NDArray[Any]:
    _refuse_nulls(column, title)
    lengths = np.concatenate([chunk.value_lengths().to_numpy(zero_copy_only=False) for chunk in column.chunks])
    dim = int(lengths[0])
    odd = np.flatnonzero(lengths != dim)
    if len(odd):
        raise InputError(f"column {title!r}: row {odd[0]} has {lengths[odd[0]]} values, but row 0 has {dim}")
    refuse_more_than_memory(4 * len(column) * dim, f"column {title!r}")
    features = np.empty((len(column), dim), dtype=np.float32)
    start = 0
    for chunk in column.chunks:
        features[start : start + len(chunk)] = _numbers(chunk.flatten(), title).reshape(len(chunk), dim)
        start += len(chunk)
    return features


def _numbers(column: Any, title: str) -> NDArray[Any]:
    _refuse_nulls(column, title)
    return column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)


def _refuse_nulls(column: Any, title: str) -> None:
    if column.null_count:
        raise InputError(f"column {title!r} has {column.null_count} empty values; features must be there in every row")
