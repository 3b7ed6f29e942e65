"""Text tables, csv and tsv: their lines read whole, their texts quoted."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import IO

from kinfolk._core.errors import InputError

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def table_lines(stream: IO[str], delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    r"""Yield the number and the cells of each line that is not blank; all must have as many cells as the first.

    >>> import io
    >>> list(table_lines(io.StringIO("id,cluster\n\na.jpg,7\n", newline="")))
    [(1, ['id', 'cluster']), (3, ['a.jpg', '7'])]
    """
    lines = csv.reader(stream, delimiter=delimiter)
    width = 0
    try:
        for cells in lines:
            if not cells:
                continue
            width = width or len(cells)
            if len(cells) != width:
                raise InputError(f"line {lines.line_num} has {len(cells)} columns, {width} were expected")
            yield lines.line_num, cells
    except csv.Error as error:
        raise InputError(f"line {lines.line_num}: {error}") from error


def quoted(text: str) -> str:
    """Return a text in quotation marks.

    Not by csv.writer, which is slower, and before Python 3.13 leaves a lone carriage return bare where lines end with a
    line feed: a file that no reader would give back.

    >>> quoted('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + text.replace('"', '""') + '"'


def as_cell(text: str) -> str:
    r"""Return a text as a cell of a csv, quoted only where it must be.

    >>> as_cell("a.jpg"), as_cell("a,b"), as_cell("a\rb")
    ('a.jpg', '"a,b"', '"a\rb"')
    """
    return quoted(text) if any(sign in text for sign in ',"\r\n') else text
