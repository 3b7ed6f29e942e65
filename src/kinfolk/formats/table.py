"""csv and tsv: one row a line; the columns whose titles are not recognised are the features, in order."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk.features import FeatureSet, blocks
from kinfolk.formats._common import assemble, labels_from_texts, number_parts, reading, recognise

DELIMITERS = {".csv": ",", ".tsv": "\t"}
TRUTH = {"0": False, "1": True, "false": False, "true": True}


def read(file: Path) -> FeatureSet:
    """Read a table; the first line is a header when any of its cells is not a number."""
    with reading(file, "a table of UTF-8 text"), file.open(encoding="utf-8-sig", newline="") as stream:
        lines = csv.reader(stream, delimiter=DELIMITERS[file.suffix.lower()])
        rows = ((lines.line_num, cells) for cells in lines if cells)
        try:
            return _parse(rows)
        except csv.Error as error:
            raise InputError(f"line {lines.line_num}: {error}") from error


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write a table with a header: label, camera, query, part, name, enhanced where known, then f0, f1, ..."""
    known = _cells(fs)
    delimiter = DELIMITERS[file.suffix.lower()]
    # nine digits are enough to give every float32 back exactly
    pattern = delimiter.join(["%s"] * len(known) + ["%.9g"] * fs.dim) + "\n"
    with replacing(file, force) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        stream.write(delimiter.join([*known, *(f"f{number}" for number in range(fs.dim))]) + "\n")
        for start, block in blocks(fs.features):
            for row, vector in enumerate(block.tolist(), start=start):
                stream.write(pattern % (*(column[row] for column in known.values()), *vector))


def _cells(fs: FeatureSet) -> dict[str, Sequence[Any]]:
    known: dict[str, Sequence[Any]] = {}
    if fs.labels is not None:
        numbers = fs.labels.tolist()
        words = [_quoted(name) for name in (*fs.label_names, "")]  # -1, unknown, is the empty text at the end
        known["label"] = [words[number] for number in numbers] if fs.label_names else numbers
    if fs.cameras is not None:
        known["camera"] = fs.cameras.tolist()
    if fs.query is not None:
        known["query"] = fs.query.astype(np.int64).tolist()
    if fs.part_index is not None:
        parts = [_quoted(name) for name in fs.part_names]
        known["part"] = [parts[number] for number in fs.part_index.tolist()]
    if fs.names is not None:
        known["name"] = [_quoted(name) for name in fs.names.tolist()]
    if fs.enhanced:
        known["enhanced"] = [1] * len(fs)
    return known


def _quoted(text: str) -> str:
    # not csv.writer, which is slower and does not quote a text with a lone carriage return
    return '"' + text.replace('"', '""') + '"'


def _parse(rows: Iterator[tuple[int, list[str]]]) -> FeatureSet:
    first = next(rows, None)
    if first is None:
        raise InputError("no rows, only blank lines")
    titled = not all(_is_number(cell) for cell in first[1])
    header = first[1] if titled else [str(number) for number in range(1, len(first[1]) + 1)]
    if titled and "" in header:
        raise InputError(f"column {header.index('') + 1} has no name in the header")
    places = recognise(header)
    numeric = [place for place in range(len(header)) if place not in places.values()]
    if not numeric:
        raise InputError("no columns are left for the features")
    values, lines = array("f"), array("q")
    texts: dict[str, list[str]] = {column: [] for column in places}
    for number, cells in rows if titled else chain([first], rows):
        if len(cells) != len(header):
            raise InputError(f"line {number} has {len(cells)} columns, {len(header)} were expected")
        try:
            values.extend([float(cells[place]) for place in numeric])
        except ValueError:
            bad = next(place for place in numeric if not _is_number(cells[place]))
            raise _not_a(number, header[bad], cells[bad], "a number") from None
        lines.append(number)
        for column, place in places.items():
            texts[column].append(cells[place])
    if not lines:
        raise InputError("a header, but no rows")
    features = np.frombuffer(values, dtype=np.float32).reshape(-1, len(numeric))
    return _typed(features, texts, {column: header[place] for column, place in places.items()}, lines)


def _typed(
    features: NDArray[Any], texts: dict[str, list[str]], titles: dict[str, str], lines: Sequence[int]
) -> FeatureSet:
    def convert(column: str, one: Callable[[str], Any], what: str) -> NDArray[Any]:
        cells = []
        for number, cell in zip(lines, texts[column], strict=True):
            try:
                cells.append(one(cell))
            except (ValueError, KeyError):
                raise _not_a(number, titles[column], cell, what) from None
        return np.array(cells)

    found: dict[str, NDArray[Any]] = {}
    label_names: tuple[str, ...] = ()
    part_names: tuple[str, ...] = ()
    if "labels" in texts:
        found["labels"], label_names = labels_from_texts(texts["labels"])
    if "cameras" in texts:
        found["cameras"] = convert("cameras", int, "an integer")
    for column in {"query", "enhanced"} & texts.keys():
        found[column] = convert(column, lambda cell: TRUTH[cell.strip().lower()], "one of 0, 1, false, true")
    if "part" in texts:
        found["part"], part_names = number_parts(texts["part"])
    if "names" in texts:
        found["names"] = np.array(texts["names"], dtype=np.str_)
    enhanced = found.pop("enhanced", False)
    return assemble(features, found, part_names, label_names, enhanced)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _not_a(line: int, title: str, cell: str, what: str) -> InputError:
    return InputError(f"line {line}, column {title!r}: {cell[:40]!r} is not {what}")
