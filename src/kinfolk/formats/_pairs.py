"""Pairs of rows in a text table: two ids a line, as they stand in the column id of clusters.csv."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file
from kinfolk.formats._common import reading
from kinfolk.formats._delimited import DELIMITERS, table_lines


def read_pairs(file: Path, rows: int, names: NDArray[np.str_] | None = None) -> NDArray[np.int64]:
    """Return pairs of row numbers (m, 2); ids are names, or numbers from 0 on where the rows have none.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "same.csv"
    >>> _ = file.write_text("b.jpg,a.jpg\\n")
    >>> read_pairs(file, 2, np.array(["a.jpg", "b.jpg"]))
    array([[1, 0]])
    """
    if file.suffix.lower() not in DELIMITERS:
        raise InputError(f"{file}: pairs are read from {', '.join(DELIMITERS)} files")
    ids = list(map(str, range(rows))) if names is None else names.tolist()
    place = {name: row for row, name in enumerate(ids)}
    times = Counter(ids)
    counted = "" if names is not None else f"; rows without names are numbered from 0 to {rows - 1}"
    found: list[list[int]] = []
    with reading(existing_file(file), "pairs of rows"), file.open(encoding="utf-8-sig", newline="") as stream:
        for line, cells in table_lines(stream, DELIMITERS[file.suffix.lower()]):
            if len(cells) != 2:
                raise InputError(f"line {line} must have two ids, without a header, not {len(cells)} columns")
            for name in cells:
                if name not in place:
                    raise InputError(f"line {line}: no row is called {name!r}{counted}")
                if times[name] > 1:
                    raise InputError(f"line {line}: {times[name]} rows are called {name!r}")
            found.append([place[name] for name in cells])
    return np.array(found, dtype=np.int64).reshape(-1, 2)
