"""parquet (extra): features as one list column or as columns of numbers; the titles mean what they do in a csv."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk._core.files import replacing
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet, blocks
from kinfolk.formats._cells import set_of_cells
from kinfolk.formats._columns import Asked, Columns, Kind, choose_columns
from kinfolk.formats._common import reading, texts

METADATA = b"kinfolk"
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12}  # bytes of a value; 8 for the others


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the columns of a FeatureSet; the others are not read."""
    pa, pq = _pyarrow()
    with reading(file, "a parquet file"), pq.ParquetFile(file, page_checksum_verification=True) as source:
        schema = source.schema_arrow
        columns = choose_columns(schema.names, [kind_of(pa, field.type) for field in schema], asked)
        wanted = [schema.names[place] for place in (*columns.features, *columns.known.values())]
        refuse_more_than_memory(_promised_bytes(source.metadata, wanted), "the table")
        table = source.read(columns=wanted)
        if table.num_rows == 0:
            raise InputError("the table has no rows")
        table.validate(full=True)
        features = _features(table, columns)
        known = {name: table.column(schema.names[place]).to_pylist() for name, place in columns.known.items()}
        return set_of_cells(columns, features, known, **_lists(table.schema.metadata or {}))


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write `features` as a fixed-size list, and the columns under their singular names."""
    pa, pq = _pyarrow()
    types = {"label": pa.int64(), "camera": pa.int64(), "query": pa.bool_(), "part": pa.string(), "name": pa.string()}
    types["enhanced"] = pa.bool_()
    known = {"label": fs.labels, "camera": fs.cameras, "query": fs.query, "name": fs.names}
    if fs.part_index is not None:
        known["part"] = np.array(fs.part_names, dtype=np.str_)[fs.part_index]
    if fs.enhanced:
        known["enhanced"] = np.full(len(fs), True)
    present = {title: column for title, column in known.items() if column is not None}
    lists = {"part_names": fs.part_names, "label_names": fs.label_names}
    vector = pa.list_(pa.float32(), fs.dim)
    schema = pa.schema(
        {"features": vector, **{title: types[title] for title in present}}, metadata={METADATA: json.dumps(lists)}
    )
    with (
        replacing(file, force) as temporary,
        pq.ParquetWriter(temporary, schema, write_page_checksum=True) as writer,
    ):
        for start, block in blocks(fs.features):
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(block).reshape(-1)), type=vector)
            rest = [pa.array(column[start : start + len(block)].tolist(), types[t]) for t, column in present.items()]
            writer.write_batch(pa.record_batch([vectors, *rest], schema=schema))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("parquet", "pyarrow") from error
    return pa, pq


def _promised_bytes(metadata: Any, titles: list[str]) -> int:
    """Return what the chosen columns take once decoded, and their float32 copy: repeated values are stored once."""
    chosen, promised = set(titles), 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(metadata.num_columns):
            column = row_group.column(place)
            if column.path_in_schema.split(".", maxsplit=1)[0] in chosen:
                width = WIDTHS.get(column.physical_type, 8)
                promised += max(column.num_values * width, column.total_uncompressed_size)
                promised += 4 * column.num_values  # the copy
    return promised


def kind_of(pa: Any, kind: Any) -> Kind:
    """Return what a column of this arrow type may be."""
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return "number"
    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    return "vector" if any(a(kind) for a in lists) and kind_of(pa, kind.value_type) == "number" else "other"


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


def _lists(metadata: dict[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    content = json.loads(metadata.get(METADATA, b"{}"))
    return {name: texts(name, content.get(name, [])) for name in ("part_names", "label_names")}
