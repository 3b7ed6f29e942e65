"""csv and tsv: one row a line; titles say what the columns are (_columns.py), a table without them is all features."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk._core.json_file import parse_json
from kinfolk._core.rows import blocks
from kinfolk.features import FeatureSet
from kinfolk.formats._columns import Asked, Columns, Kind, choose_columns, refuse_row_numbers
from kinfolk.formats._common import assemble, labels_from_texts, number_parts, reading, text_array
from kinfolk.formats._delimited import DELIMITERS, quoted, table_lines

WHOLE = re.compile(r"-?[0-9]+\.0")
TRUTH = {"0": False, "1": True, "false": False, "true": True}


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read a table; the first line is a header when any of its cells is not a number."""
    with reading(file, "a table of UTF-8 text"), file.open(encoding="utf-8-sig", newline="") as stream:
        return _parse(table_lines(stream, DELIMITERS[file.suffix.lower()]), asked or Asked())


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
        words = [quoted(name) for name in (*fs.label_names, "")]  # -1, unknown, is the empty text at the end
        known["label"] = [words[number] for number in numbers] if fs.label_names else numbers
    if fs.cameras is not None:
        known["camera"] = fs.cameras.tolist()
    if fs.query is not None:
        known["query"] = fs.query.astype(np.int64).tolist()
    if fs.part_index is not None:
        parts = [quoted(name) for name in fs.part_names]
        known["part"] = [parts[number] for number in fs.part_index.tolist()]
    if fs.names is not None:
        known["name"] = [quoted(name) for name in fs.names.tolist()]
    if fs.enhanced:
        known["enhanced"] = [1] * len(fs)
    return known


def _parse(rows: Iterator[tuple[int, list[str]]], asked: Asked) -> FeatureSet:
    first = next(rows, None)
    if first is None:
        raise InputError("no rows, only blank lines")
    if len(first[1]) == 1 and ";" in first[1][0]:  # as spreadsheets write where numbers have a decimal comma
        raise InputError("there are semicolons between the columns: save it with commas, and decimal points in numbers")
    titled = not all(_is_number(cell) for cell in first[1])
    header = first[1] if titled else [str(number) for number in range(1, len(first[1]) + 1)]
    if titled and "" in header[1:]:
        raise InputError(f"column {header.index('', 1) + 1} has no name in the header")
    if asked and not titled:
        raise InputError("columns are asked for by title, but the first line is numbers only: this table has no header")
    if titled and (first := next(rows, None)) is None:
        raise InputError("a header, but no rows")
    if titled:
        columns = choose_columns(header, list(map(_kind, first[1])), asked)  # their kinds are those of the first row
    else:
        columns = Columns(tuple(header), tuple(range(len(header))), {})
    values, lines = array("f"), array("q")
    texts: dict[str, list[str]] = {column: [] for column in columns.known}
    for number, cells in chain([first], rows):
        vector = _vector(columns, cells, number)
        values.extend(vector)
        lines.append(number)
        if len(values) != len(vector) * len(lines):
            raise InputError(f"line {number}: the vector has {len(vector)} values, other than those before it")
        for column, place in columns.known.items():
            texts[column].append(cells[place])
    features = np.frombuffer(values, dtype=np.float32).reshape(len(lines), -1)
    if not titled:
        return FeatureSet(features, taken_from=f"{len(header)} features (no header)")
    refuse_row_numbers(columns, features)
    return _typed(features, texts, columns, lines)


def _kind(cell: str) -> Kind:
    if not cell.strip() or _is_number(cell):
        return "number"  # an empty cell among the features is refused by its line
    return "vector" if cell.lstrip().startswith("[") else "other"


def _vector(columns: Columns, cells: list[str], line: int) -> list[float]:
    if columns.is_vector:
        (place,) = columns.features
        try:
            return list(map(float, parse_json(cells[place])))
        except (ValueError, TypeError):
            raise _not_a(line, columns.titles[place], cells[place], "a list of numbers such as [0.5, 1.0]") from None
    try:
        return [float(cells[place]) for place in columns.features]
    except ValueError:
        bad = next(place for place in columns.features if not _is_number(cells[place]))
        raise _not_a(line, columns.titles[bad], cells[bad], "a number") from None


def _typed(features: NDArray[Any], texts: dict[str, list[str]], columns: Columns, lines: Sequence[int]) -> FeatureSet:
    def convert(column: str, one: Callable[[str], Any], what: str) -> NDArray[Any]:
        cells = []
        for number, cell in zip(lines, texts[column], strict=True):
            try:
                cells.append(one(cell))
            except (ValueError, KeyError):
                raise _not_a(number, columns.titles[columns.known[column]], cell, what) from None
        return np.array(cells)

    found: dict[str, NDArray[Any]] = {}
    label_names: tuple[str, ...] = ()
    part_names: tuple[str, ...] = ()
    if "labels" in texts:
        found["labels"], label_names = labels_from_texts(_without_zeros(texts["labels"]))
    if "cameras" in texts:
        found["cameras"] = convert("cameras", int, "an integer")
    for column in {"query", "enhanced"} & texts.keys():
        found[column] = convert(column, lambda cell: TRUTH[cell.strip().lower()], "one of 0, 1, false, true")
    if "part" in texts:
        found["part"], part_names = number_parts(texts["part"])
    if "names" in texts:
        found["names"] = text_array(texts["names"])
    enhanced = found.pop("enhanced", False)
    fs = assemble(features, found, part_names, label_names, enhanced)
    return replace(fs, taken_from=columns.describe(fs.dim))


def _without_zeros(labels: list[str]) -> list[str]:
    """Return the labels as whole numbers where all are written as 7.0: pandas makes floats of integers with gaps."""
    if all(WHOLE.fullmatch(label) for label in labels if label):
        return [label.removesuffix(".0") for label in labels]
    return labels


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _not_a(line: int, title: str, cell: str, what: str) -> InputError:
    return InputError(f"line {line}, column {title!r}: {cell[:40]!r} is not {what}")
