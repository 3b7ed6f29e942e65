"""arrow (extra parquet): tables of arrow's IPC format, .arrow and .feather, as files or as streams; only read.

The columns mean what they do in a csv. Hugging Face's ClassLabel columns bring the names of their labels.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinfolk._core.errors import InputError
from kinfolk._core.json_file import parse_json
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet
from kinfolk.formats._arrow_table import kind_of, pyarrow, set_of_table
from kinfolk.formats._columns import Asked, Columns, choose_columns
from kinfolk.formats._common import reading, texts

MAGIC = b"ARROW1"  # begins and ends a file; before the end is its footer, and the size of that
BLOCK = struct.Struct("<qi4xq")  # of a footer: where a message is, the size of its facts and of its body
OLD_FEATHER = b"FEA1"
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # kinds of messages


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the columns of a FeatureSet; the others are not decoded."""
    pa, ipc = pyarrow(), pyarrow("ipc")
    with reading(file, "an arrow file"), pa.memory_map(str(file)) as source:
        data = source.read_buffer()
        start = bytes(data[: len(MAGIC)])
        if start.startswith(OLD_FEATHER):
            raise InputError("it is of the first version of feather: write it again as version 2")
        # by the footer of a file: what polars writes before it is no stream
        opened, messages = (ipc.open_file, _listed) if start == MAGIC else (ipc.open_stream, _streamed)
        unpacked = sum(_unpacked_bytes(message) for message in messages(ipc, data))
        refuse_more_than_memory(unpacked, "the table", packed=len(data))
        schema = opened(data).schema
        columns = choose_columns(schema.names, [kind_of(field.type) for field in schema], asked)
        chosen = sorted({*columns.features, *columns.known.values()})
        table = opened(data, options=ipc.IpcReadOptions(included_fields=chosen)).read_all()
        return set_of_table(table, columns, label_names=_label_names(schema, columns))


def _listed(ipc: Any, data: Any) -> Iterator[Any]:
    """Yield the messages that the footer of a file lists: dictionaries and batches of rows."""
    end = len(data) - len(MAGIC) - 4
    (size,) = struct.unpack("<i", bytes(data[end : end + 4]))
    if not 0 < size <= end:
        raise InputError("the end of the file, which says where its rows are, is missing: it may be truncated")
    facts = bytes(data[end - size : end])
    (root,) = struct.unpack_from("<I", facts)
    for field in (2, 3):  # dictionaries, batches
        place = _field(facts, root, field)
        if place is None:
            continue
        blocks = _target(facts, place)
        (count,) = struct.unpack_from("<I", facts, blocks)
        for number in range(count):
            start, head, body = BLOCK.unpack_from(facts, blocks + 4 + BLOCK.size * number)
            yield ipc.read_message(data[start : start + head + body])


def _streamed(ipc: Any, stream: Any) -> Iterator[Any]:
    reader = ipc.MessageReader.open_stream(stream)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _unpacked_bytes(message: Any) -> int:
    """Return what the compressed buffers of a message take: each begins with its size; others stay mapped.

    The facts of a message are a flatbuffer: a table is an offset to its list of fields, a field an offset in the table.
    """
    facts = bytes(message.metadata)
    (root,) = struct.unpack_from("<I", facts)
    kind_at, header_at = _field(facts, root, 1), _field(facts, root, 2)
    kind = facts[kind_at] if kind_at is not None else 0
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH) or header_at is None:
        return 0
    batch: int | None = _target(facts, header_at)
    if kind == DICTIONARY_BATCH:
        inner = _field(facts, batch, 1)
        batch = None if inner is None else _target(facts, inner)
    if batch is None or _field(facts, batch, 3) is None:  # not compressed
        return 0
    buffers_at = _field(facts, batch, 2)
    return 0 if buffers_at is None else _sum_of_sizes(facts, _target(facts, buffers_at), message.body)


def _sum_of_sizes(facts: bytes, vector: int, body: Any) -> int:
    (count,) = struct.unpack_from("<I", facts, vector)
    total = 0
    for number in range(count):
        offset, length = struct.unpack_from("<qq", facts, vector + 4 + 16 * number)
        if length >= 8 and offset >= 0:
            total += max(0, *struct.unpack("<q", bytes(body[offset : offset + 8])))
    return total


def _field(facts: bytes, table: int | None, number: int) -> int | None:
    """Return where a field of a table is; None where the table does not have it."""
    assert table is not None
    (back,) = struct.unpack_from("<i", facts, table)
    fields = table - back
    (size,) = struct.unpack_from("<H", facts, fields)
    place = 4 + 2 * number
    (offset,) = struct.unpack_from("<H", facts, fields + place) if place < size else (0,)
    return table + offset if offset else None


def _target(facts: bytes, place: int) -> int:
    return place + int(struct.unpack_from("<I", facts, place)[0])


def _label_names(schema: Any, columns: Columns) -> tuple[str, ...]:
    """Return the names of a ClassLabel column, which Hugging Face's datasets keep in the metadata of the table."""
    content = (schema.metadata or {}).get(b"huggingface")
    if content is None or "labels" not in columns.known:
        return ()
    facts = parse_json(content)
    for key in ("info", "features", columns.titles[columns.known["labels"]]):
        facts = facts.get(key) if isinstance(facts, dict) else None
    if not isinstance(facts, dict) or facts.get("_type") != "ClassLabel":
        return ()
    return texts("the names of the labels", facts.get("names", []))
