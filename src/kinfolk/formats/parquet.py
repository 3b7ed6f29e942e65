"""parquet (extra): features as one list column or as columns of numbers; the titles mean what they do in a csv."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk._core.json_file import parse_json
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk._core.rows import blocks
from kinfolk.features import FeatureSet
from kinfolk.formats._arrow_table import kind_of, pyarrow, set_of_table
from kinfolk.formats._columns import Asked, choose_columns
from kinfolk.formats._common import NAME_LISTS, reading, texts

METADATA = b"kinfolk"
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12}  # bytes of a value; 8 for the others


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the columns of a FeatureSet; the others are not read."""
    pa, pq = pyarrow(), pyarrow("parquet")
    with reading(file, "a parquet file"):
        schema = pq.read_schema(file)
        columns = choose_columns(schema.names, [kind_of(field.type) for field in schema], asked)
        wanted = [schema.names[place] for place in (*columns.features, *columns.known.values())]
        # texts stay as they are stored: each once, and its number in every row
        texts_in = [title for title in wanted if pa.types.is_string(schema.field(title).type)]
        with pq.ParquetFile(file, page_checksum_verification=True, read_dictionary=texts_in) as source:
            row = sum(4 * getattr(schema.field(title).type, "list_size", 1) for title in wanted)
            size = file.stat().st_size
            refuse_more_than_memory(source.metadata.num_rows * row, "the table", size)  # before the pass takes its time
            # a pass in small batches: damage is an exception here, and ends the process in _promised_bytes and beyond
            source.scan_contents(wanted)
            refuse_more_than_memory(_promised_bytes(source, wanted), "the table", size)
            table = source.read(columns=wanted)
        return set_of_table(table, columns, **_lists(table.schema.metadata or {}))


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write `features` as a fixed-size list, and the columns under their singular names."""
    pa, pq = pyarrow(), pyarrow("parquet")
    types = {"label": pa.int64(), "camera": pa.int64(), "query": pa.bool_(), "part": pa.string(), "name": pa.string()}
    types["enhanced"] = pa.bool_()
    known = {"label": fs.labels, "camera": fs.cameras, "query": fs.query, "name": fs.names}
    if fs.part_index is not None:
        known["part"] = np.array(fs.part_names, dtype=np.str_)[fs.part_index]
    if fs.enhanced:
        known["enhanced"] = np.full(len(fs), True)
    present = {title: column for title, column in known.items() if column is not None}
    lists = {name: getattr(fs, name) for name in NAME_LISTS}
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


def _promised_bytes(source: Any, titles: list[str]) -> int:
    """Return what the chosen columns take once decoded, and their float32 copy: repeated values are stored once."""
    paths = [source.schema.column(place).path for place in range(source.metadata.num_columns)]
    chosen = [place for place, path in enumerate(paths) if path.split(".", maxsplit=1)[0] in titles]
    promised = 0
    for group in range(source.metadata.num_row_groups):
        row_group = source.metadata.row_group(group)
        for place in chosen:
            column = row_group.column(place)
            width = WIDTHS.get(column.physical_type, 8)
            promised += max(column.num_values * width, column.total_uncompressed_size)
            promised += 4 * column.num_values  # the copy
    return promised


def _lists(metadata: dict[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    content = parse_json(metadata.get(METADATA, b"{}"))
    if not isinstance(content, dict):
        raise InputError("the metadata of kinfolk in it is damaged")
    return {name: texts(name, content.get(name, [])) for name in NAME_LISTS}
