"""parquet (extra): features as one list column or as f0, f1, ...; the other columns are named as in a table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk._core.files import replacing
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet, blocks
from kinfolk.formats._common import assemble, labels_from_texts, number_parts, reading, recognise, texts

LIST_TITLES = ("features", "embedding", "embeddings")
NUMBERED = re.compile(r"f(0|[1-9][0-9]*)")
METADATA = b"kinfolk"
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12}  # bytes of a value; 8 for the others


def read(file: Path) -> FeatureSet:
    """Read the columns of a FeatureSet; the others are not read."""
    pa, pq = _pyarrow()
    with reading(file, "a parquet file"), pq.ParquetFile(file, page_checksum_verification=True) as source:
        titles = source.schema_arrow.names
        places = recognise(titles)
        titles_of_features = _feature_titles(titles)
        chosen = [*titles_of_features, *(titles[place] for place in places.values())]
        refuse_more_than_memory(_promised_bytes(source.metadata, chosen), "the table")
        table = source.read(columns=chosen)
        if table.num_rows == 0:
            raise InputError("the table has no rows")
        table.validate(full=True)
        features = _features(pa, table, titles_of_features)
        lists = _lists(table.schema.metadata or {})
        known = {name: table.column(titles[place]) for name, place in places.items()}
        return _assemble(pa, features, known, lists)


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


def _feature_titles(titles: list[str]) -> list[str]:
    lists = [title for title in titles if title.lower() in LIST_TITLES]
    if lists:
        return lists[:1]
    numbered = sorted((title for title in titles if NUMBERED.fullmatch(title)), key=lambda title: int(title[1:]))
    if not numbered:
        have = ", ".join(titles) or "none"
        raise InputError(f"no column 'features' or 'embedding' and no f0, f1, ...; the columns are: {have}")
    for number, title in enumerate(numbered):
        if title != f"f{number}":
            raise InputError(f"column 'f{number}' is missing: the features end with {numbered[-1]!r}")
    return numbered


def _features(pa: Any, table: Any, titles: list[str]) -> NDArray[Any]:
    column = table.column(titles[0])
    if len(titles) == 1 and titles[0].lower() in LIST_TITLES:
        return _list_features(pa, column, titles[0])
    features = np.empty((table.num_rows, len(titles)), dtype=np.float32)
    for place, title in enumerate(titles):
        features[:, place] = _numbers(pa, table.column(title), title)
    return features


def _list_features(pa: Any, column: Any, title: str) -> NDArray[Any]:
    kinds = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    if not any(is_kind(column.type) for is_kind in kinds):
        raise InputError(f"column {title!r} must be lists of numbers, not {column.type}")
    _refuse_nulls(column, title)
    lengths = np.concatenate([chunk.value_lengths().to_numpy(zero_copy_only=False) for chunk in column.chunks])
    dim = int(lengths[0])
    odd = np.flatnonzero(lengths != dim)
    if len(odd):
        raise InputError(f"column {title!r}: row {odd[0]} has {lengths[odd[0]]} values, but row 0 has {dim}")
    features = np.empty((len(column), dim), dtype=np.float32)
    start = 0
    for chunk in column.chunks:
        features[start : start + len(chunk)] = _numbers(pa, chunk.flatten(), title).reshape(len(chunk), dim)
        start += len(chunk)
    return features


def _numbers(pa: Any, column: Any, title: str) -> NDArray[Any]:
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise InputError(f"column {title!r} must be numbers, not {column.type}")
    _refuse_nulls(column, title)
    return column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)


def _refuse_nulls(column: Any, title: str) -> None:
    if column.null_count:
        raise InputError(f"column {title!r} has {column.null_count} empty values; features must be there in every row")


def _lists(metadata: dict[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    content = json.loads(metadata.get(METADATA, b"{}"))
    return {name: texts(name, content.get(name, [])) for name in ("part_names", "label_names")}


def _assemble(pa: Any, features: NDArray[Any], known: dict[str, Any], lists: dict[str, tuple[str, ...]]) -> FeatureSet:
    found: dict[str, NDArray[Any]] = {}
    for name, column in known.items():
        cells = column.to_pylist()
        if name == "labels" and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            # pandas writes an integer column with gaps as floats with NaN
            found[name] = np.array([-1 if cell is None or np.isnan(cell) else cell for cell in cells])
        elif name == "labels":
            found[name], lists["label_names"] = labels_from_texts(["" if cell is None else str(cell) for cell in cells])
        elif name == "names":
            found[name] = np.array(["" if cell is None else str(cell) for cell in cells], dtype=np.str_)
        elif None in cells:
            raise InputError(f"the {name} of row {cells.index(None)} are empty")
        elif name == "part":
            found[name], lists["part_names"] = number_parts([str(cell) for cell in cells], lists["part_names"])
        else:
            found[name] = np.array(cells)
    enhanced = found.pop("enhanced", False)
    return assemble(features, found, enhanced=enhanced, **lists)
