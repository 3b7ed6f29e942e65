"""Names in a file of their own: .txt (one a line), .csv or .tsv (a column), .npy (texts or whole numbers)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file
from kinfolk.features import FeatureSet
from kinfolk.formats._arrays import read_file
from kinfolk.formats._columns import name_column
from kinfolk.formats._common import as_vector, read_lines, reading, text_array
from kinfolk.formats._delimited import DELIMITERS, table_lines

SUFFIXES = (".txt", ".npy", *DELIMITERS)


def attach_names(
    fs: FeatureSet, names: str | os.PathLike[str] | Sequence[str] | NDArray, title: str | None = None
) -> FeatureSet:
    """Return the set with the names given, or those of a file, one for each row; title: of the column of a table.

    >>> attach_names(FeatureSet(np.eye(2)), ["a.jpg", "b.jpg"]).names.tolist()
    ['a.jpg', 'b.jpg']
    """
    found = read_names(Path(names), title) if isinstance(names, str | os.PathLike) else np.asarray(names)
    where = names if isinstance(names, str | os.PathLike) else "names"
    if len(found) != len(fs):
        raise InputError(f"{where}: {len(found):,} names for {len(fs):,} rows")
    return replace(fs, names=found.astype(np.str_) if found.dtype.kind in "iu" else found)


def read_names(file: Path, title: str | None = None) -> NDArray[np.str_]:
    """Return the names (n,) of a file."""
    existing_file(file)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{file}: names are read from {', '.join(SUFFIXES)} files")
    if suffix == ".txt":
        return text_array(read_lines(file))
    if suffix in DELIMITERS:
        return _read_column(file, DELIMITERS[suffix], title)
    array = read_file(file, "names")
    with reading(file, "names"):
        names = as_vector("names", array)
        if names.dtype.kind not in "Uiu":
            raise InputError(f"names must be texts or whole numbers, not {names.dtype}")
    return names.astype(np.str_)


def _read_column(file: Path, delimiter: str, title: str | None) -> NDArray[np.str_]:
    with reading(file, "a table of names"), file.open(encoding="utf-8-sig", newline="") as stream:
        lines = table_lines(stream, delimiter)
        _, header = next(lines, (0, []))
        place = name_column(header, title)
        return text_array([cells[place] for _, cells in lines])
