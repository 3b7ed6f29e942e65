"""clusters.csv: the cluster of each row, under the header id,cluster,confidence,second,is_medoid.

id is the name of a row, or its number where the set has no names; rows stand in the order of the set, so that no row is
lost where names are the same. confidence, and second, the next best cluster, are empty where a method has none.
is_medoid is 1 for the row in the middle of its cluster. The older headers name,cluster and row,cluster are read too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, replacing
from kinfolk._core.text import safe_cell
from kinfolk.formats._common import labels_from_texts, reading
from kinfolk.formats._delimited import as_cell, table_lines
from kinfolk.formats._labels import read_labels

HEADER = ("id", "cluster", "confidence", "second", "is_medoid")
KEYS = ("id", "name", "row")


def write_clusters(
    file: Path,
    labels: NDArray[np.integer],
    names: NDArray[np.str_] | None = None,
    confidence: NDArray[np.floating] | None = None,
    medoids: NDArray[np.bool_] | None = None,
    force: bool = False,
    safe_cells: bool = False,
    second: NDArray[np.integer] | None = None,
) -> None:
    """Write one cluster a row: a .csv with the header above, or the labels alone as a .npy.

    With `safe_cells` no name is a formula to a spreadsheet; `read_clusters` reads such a file too.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "clusters.csv"
    >>> write_clusters(file, np.array([0, 1]), np.array(["a.jpg", "b.jpg"]), medoids=np.array([True, True]))
    >>> file.read_text().split()
    ['id,cluster,confidence,second,is_medoid', 'a.jpg,0,,,1', 'b.jpg,1,,,1']
    """
    with replacing(file, force) as temporary:
        if file.suffix == ".npy":
            np.save(temporary, labels)
            return
        ids = map(str, range(len(labels))) if names is None else _cells(names, safe_cells)
        sure = [""] * len(labels) if confidence is None else [f"{value:.4f}" for value in confidence.tolist()]
        middle = [""] * len(labels) if medoids is None else medoids.astype(np.int64).tolist()
        other = [""] * len(labels) if second is None else [str(c) if c >= 0 else "" for c in second.tolist()]
        with temporary.open("w", newline="", encoding="utf-8") as sheet:
            sheet.write(",".join(HEADER) + "\n")
            for row in zip(ids, labels.tolist(), sure, other, middle, strict=True):
                sheet.write("{},{},{},{},{}\n".format(*row))


def read_clusters(file: Path, rows: int, names: NDArray[np.str_] | None = None) -> NDArray[Any]:
    """Read a cluster for each of the rows of a set: .csv as above; .npy, .txt, .meta in row order.

    Clusters are numbers or texts; -1 and an empty cell mean a cluster of its own. Ids that are those of the set in its
    order are matched row by row, so that two rows may have one name; else every id must be there once.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "clusters.csv"
    >>> _ = file.write_text("name,cluster\\nb.jpg,1\\na.jpg,0\\n")
    >>> read_clusters(file, 2, np.array(["a.jpg", "b.jpg"]))
    array([0, 1])
    """
    clusters = _from_table(file, rows, names) if file.suffix.lower() == ".csv" else read_labels(file)[0]
    if len(clusters) != rows:
        raise InputError(f"{file} has {len(clusters):,} clusters, but there are {rows:,} rows to score")
    return clusters


def _from_table(file: Path, rows: int, names: NDArray[np.str_] | None) -> NDArray[np.int64]:
    with reading(existing_file(file), "a table of clusters"), file.open(encoding="utf-8-sig", newline="") as stream:
        lines = table_lines(stream)
        _, header = next(lines, (0, []))
        key = next((column for column in KEYS if column in header), None)
        if key is None or "cluster" not in header:
            raise InputError(
                f"the columns id,cluster (or name,cluster or row,cluster) were expected, not {','.join(header)[:80]}"
            )
        place, cluster = header.index(key), header.index("cluster")
        found = [(number, cells[place], cells[cluster]) for number, cells in lines]
        numbers, ids, clusters = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [])
        return labels_from_texts(_in_order(key, numbers, ids, clusters, rows, names))[0]


def _in_order(
    key: str,
    numbers: Sequence[int],
    ids: list[str],
    clusters: list[str],
    rows: int,
    names: NDArray[np.str_] | None,
) -> list[str]:
    """Return the clusters in the order of the set, whose rows are called by name or by number."""
    counted = [str(row) for row in range(rows)]
    called = [] if names is None or key == "row" else [names.tolist()]
    called += [] if key == "name" else [counted]
    if not called:
        raise InputError("clusters are given by name, but the features have no names: give them with --names")
    if ids in called or ids == list(map(safe_cell, called[0])):  # as written with --safe-cells
        return clusters
    wanted = called[0]
    if twice := next((place for place, many in enumerate(_times(ids)) if many), None):
        raise InputError(
            f"line {numbers[twice]}: {key} {ids[twice]!r} is there twice, and the rows are not in the set's order"
        )
    if wanted is counted and len(ids) != rows:
        raise InputError(f"clusters of {len(ids):,} rows, but {rows:,} to score: were they made from another --part?")
    if len(set(wanted)) < len(wanted):
        name, times = Counter(wanted).most_common(1)[0]
        raise InputError(f"{times} rows of the set are called {name!r}, and the clusters are not in the set's order")
    by_id = dict(zip(ids, clusters, strict=True))
    others = set(wanted)
    wanted = [one if one in by_id or safe_cell(one) in others else safe_cell(one) for one in wanted]
    missing = [one for one in wanted if one not in by_id]
    if missing:
        raise InputError(f"no cluster for {key} {missing[0]!r}, nor for {len(missing) - 1:,} others")
    return [by_id[one] for one in wanted]


def _times(ids: Sequence[str]) -> Iterator[int]:
    """Yield how often each id stood above its own line."""
    seen: Counter[str] = Counter()
    for one in ids:
        yield seen[one]
        seen[one] += 1


def _cells(names: NDArray[np.str_], safe: bool) -> Iterator[str]:
    return map(as_cell, map(safe_cell, names.tolist()) if safe else names.tolist())
