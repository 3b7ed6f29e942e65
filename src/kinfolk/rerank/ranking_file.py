"""Rankings on disk: what `kinfolk rerank` writes and `kinfolk evaluate --ranking` reads.

.npz   indices (nq, top) and distances (nq, top) as in `Ranking`, n_gallery, and a checksum of each column that says
       which rows the queries and the gallery are: query_labels, gallery_names, ...
.csv   one line a pair: query,rank,gallery,distance,of. Queries and items have their names, or where these are missing
       or not all different their row numbers among the queries and in the gallery; `of` is the size of the gallery.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, replacing
from kinfolk._core.text import safe_cell
from kinfolk.features import FeatureSet
from kinfolk.formats._common import reading
from kinfolk.formats._delimited import as_cell, table_lines
from kinfolk.formats._npz_archive import open_npz
from kinfolk.rerank._ranking import Ranking

HEADER = ["query", "rank", "gallery", "distance", "of"]
OTHER_ROWS = "it ranks other rows than the {:,} of this gallery"
IDENTIFYING = ("names", "labels", "cameras")  # columns that stay the same when features are made better


def write_ranking(
    file: Path, ranking: Ranking, query: FeatureSet, gallery: FeatureSet, force: bool = False, safe_cells: bool = False
) -> None:
    """Write a ranking: .npz, or .csv with a line a pair.

    Parameters
    ----------
    file : where to write, .npz or .csv.
    ranking : of `gallery` for `query`.
    query, gallery : the rows it is of.
    force : replace a file that is there.
    safe_cells : for spreadsheets, see `kinfolk._core.text.safe_cell`.

    Examples
    --------
    >>> import tempfile
    >>> import kinfolk as kf
    >>> file = Path(tempfile.mkdtemp()) / "ranking.csv"
    >>> fs = kf.FeatureSet([[1, 0], [0, 1]], names=["a.jpg", "b.jpg"])
    >>> write_ranking(file, kf.rerank.cosine(fs, fs, top=1), fs, fs)
    >>> file.read_text().split()
    ['query,rank,gallery,distance,of', 'a.jpg,1,a.jpg,0.0,2', 'b.jpg,1,b.jpg,0.0,2']
    """
    with replacing(file, force) as temporary:
        if file.suffix == ".npz":
            arrays: dict[str, Any] = dict(indices=ranking.indices, distances=ranking.distances, n_gallery=len(gallery))
            np.savez(temporary, **arrays, **_checksums(query, gallery))
            return
        names, items = (np.array(_cells(fs, safe_cells), dtype=object) for fs in (query, gallery))
        with temporary.open("w", newline="", encoding="utf-8") as sheet:
            sheet.write(",".join(HEADER) + "\n")
            for name, rows, distances in zip(names, ranking.indices, ranking.distances, strict=True):
                lines = enumerate(zip(items[rows], distances.tolist(), strict=True), 1)
                sheet.writelines(f"{name},{rank},{item},{round(d, 6)},{len(gallery)}\n" for rank, (item, d) in lines)


def read_ranking(file: Path, query: FeatureSet, gallery: FeatureSet) -> NDArray[np.int64]:
    """Read the gallery rows of each query, best first, from a ranking of these rows; one of others is refused.

    Parameters
    ----------
    file : .npz or .csv, as `write_ranking` writes them.
    query, gallery : the rows it must be of.

    Returns
    -------
    (nq, longest list) gallery rows; -1 fills up lists that are shorter.

    Examples
    --------
    >>> import tempfile
    >>> import kinfolk as kf
    >>> file = Path(tempfile.mkdtemp()) / "ranking.npz"
    >>> fs = kf.FeatureSet([[1, 0], [0, 1]])
    >>> write_ranking(file, kf.rerank.cosine(fs, fs), fs, fs)
    >>> read_ranking(file, fs, fs).tolist()
    [[0, 1], [1, 0]]
    """
    if file.suffix not in (".npz", ".csv"):
        raise InputError(f"{file}: a ranking is a .npz or .csv file that kinfolk rerank wrote")
    with reading(existing_file(file), "a ranking"):
        return _from_arrays(file, query, gallery) if file.suffix == ".npz" else _from_table(file, query, gallery)


def _ids(fs: FeatureSet) -> list[Any]:
    """Return the names of the rows where all differ, else their numbers."""
    if fs.names is not None and len(np.unique(fs.names)) == len(fs):
        return list(fs.names.tolist())
    return list(range(len(fs)))


def _cells(fs: FeatureSet, safe: bool) -> list[str]:
    ids = [str(name) for name in _ids(fs)]
    return [as_cell(safe_cell(name) if safe else name) for name in ids]


def _places(fs: FeatureSet) -> dict[str, int]:
    """Return the row of each id, as it is written plainly and with safe cells."""
    ids = [str(name) for name in _ids(fs)]
    return {safe_cell(name): row for row, name in enumerate(ids)} | {name: row for row, name in enumerate(ids)}


def _checksums(query: FeatureSet, gallery: FeatureSet) -> dict[str, Any]:
    """Return a checksum of each column that says which rows these are."""
    found: dict[str, Any] = {}
    for side, fs in (("query", query), ("gallery", gallery)):
        for column in IDENTIFYING:
            values = getattr(fs, column)
            if values is not None:
                text = "\0".join(map(str, values.tolist())).encode("utf-8", "surrogatepass")
                found[f"{side}_{column}"] = np.array(hashlib.sha256(text).hexdigest())
    return found


def _from_arrays(file: Path, query: FeatureSet, gallery: FeatureSet) -> NDArray[np.int64]:
    with open_npz(file) as archive:
        headers = archive.headers()
        if "indices" not in headers:
            raise InputError(f"a ranking has the array indices, this file has {', '.join(headers) or 'none'}")
        shape, kind = headers["indices"].shape, headers["indices"].dtype
        if len(shape) != 2 or kind.kind not in "iu":
            raise InputError(f"indices must be (queries, top) row numbers, not {shape} of {kind}")
        checksums = _checksums(query, gallery)
        facts = {name: str(value) for name, value in archive.read(["n_gallery", *checksums]).items()}
        size = facts.get("n_gallery", str(len(gallery)))
        if (shape[0], size) != (len(query), str(len(gallery))):
            raise InputError(
                f"a ranking of {size} gallery rows for {shape[0]} queries, but the set has "
                f"{len(gallery)} and {len(query)}: was it made from another set or --part?"
            )
        for name, checksum in checksums.items():
            if facts.get(name, str(checksum)) != str(checksum):
                side, _, column = name.partition("_")
                raise InputError(f"a ranking of another set: its {column} of the {side} are others")
        if shape[1] > len(gallery):
            raise InputError(OTHER_ROWS.format(len(gallery)))
        return _rows(archive.read(["indices"])["indices"], gallery)


def _rows(lists: NDArray[np.integer], gallery: FeatureSet) -> NDArray[np.int64]:
    """Return lists of gallery rows as int64, checked before they are cast; -1 ends a list."""
    if lists.size and (lists.max() >= len(gallery) or lists.min() < -1):
        raise InputError(OTHER_ROWS.format(len(gallery)))
    return lists.astype(np.int64)


def _from_table(file: Path, query: FeatureSet, gallery: FeatureSet) -> NDArray[np.int64]:
    places = [_places(fs) for fs in (query, gallery)]
    lists: list[list[int]] = [[] for _ in range(len(query))]
    with file.open(encoding="utf-8-sig", newline="") as sheet:
        lines = table_lines(sheet)
        _, header = next(lines, (0, []))
        if header[:3] != HEADER[:3]:
            raise InputError(f"the columns {','.join(HEADER)} were expected, not {','.join(header)}")
        for number, cells in lines:
            line, where = dict(zip(header, cells, strict=True)), f"line {number}"
            for side, known in zip(("query", "gallery"), places, strict=True):
                if line[side] not in known:
                    raise InputError(
                        f"{where}: {side} {line[side]!r} is not in the set: a ranking of another set or --part?"
                    )
            if line.get("of") not in (None, str(len(gallery))):
                raise InputError(
                    f"{where}: a ranking of {line['of']} gallery rows, but the set has {len(gallery):,}: "
                    "was it made from another set or --part?"
                )
            found = lists[places[0][line["query"]]]
            if line["rank"] != str(len(found) + 1):
                raise InputError(f"{where}: the rank {len(found) + 1} was expected, not {line['rank']!r}")
            if len(found) == len(gallery):
                raise InputError(f"{where}: more ranks than the {len(gallery):,} rows of this gallery")
            found.append(places[1][line["gallery"]])
    empty = next((row for row, found in enumerate(lists) if not found), None)
    if empty is not None:
        raise InputError(f"no list for the query {_ids(query)[empty]!r}: a ranking of another set or --part?")
    longest = max(map(len, lists))
    return np.array([found + [-1] * (longest - len(found)) for found in lists], dtype=np.int64)
