"""mat: the result file of re-identification code, MATLAB 5 (save -v6, -v7).

gallery_f, gallery_label, gallery_cam and query_f, query_label, query_cam; rows are the queries, then the gallery;
`enhanced`, a number, is 1 where the features have been enhanced.

scipy.io.loadmat is not used for reading, because one damaged byte, an unknown kind of number, crashes the interpreter
(scipy 1.17, reproduced in tests/formats/test_mat.py). The few elements that are needed are read here instead, each
checked against the bytes that are there. A file is a header of 128 bytes and elements; an element is a tag (kind, size)
and its bytes; a matrix is an element of four: flags, dimensions, name, values.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet, as_matrix
from kinfolk.formats._common import as_vector, assemble, reading

SIDES = ("query", "gallery")
FIELDS = {"features": "f", "labels": "label", "cameras": "cam"}
HEADER = 128
MATRIX, COMPRESSED = 14, 15
ORDERS = {b"IM": "<", b"MI": ">"}
VALUES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
OTHER_CLASSES = {1: "a cell array", 2: "a struct", 3: "an object", 4: "text", 5: "sparse"}
NUMERIC_CLASSES = range(6, 16)
COMPLEX = 0x0800
NAME_AT_LATEST = 4096  # bytes of a compressed matrix that are looked at to find its name, which comes before its values


def read(file: Path) -> FeatureSet:
    """Read queries and gallery; labels and cameras may be rows or columns."""
    needed = [f"{side}_{field}" for side in SIDES for field in FIELDS.values()]
    with reading(file, "a .mat file"):
        content = read_variables(file.read_bytes(), [*needed, "enhanced"])
        missing = [name for name in needed if name not in content]
        if missing:
            raise InputError(f"no {', '.join(missing)}; a re-ID result file needs {', '.join(needed)}")
        return _assemble(content)


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write queries, then gallery; names and parts are lost."""
    # not at the top: scipy.io would more than double the time of `import kinfolk`, which loads every format
    from scipy.io import savemat
    from scipy.io.matlab import MatWriteError

    missing = [field for field in ("labels", "cameras", "query") if getattr(fs, field) is None]
    if missing:
        raise InputError(f"{file}: a re-ID result file needs labels, cameras and query; this set has no {missing[0]}")
    assert fs.query is not None
    if fs.part_index is not None and len(np.unique(fs.part_index)) > 1:
        raise InputError(
            f"{file}: a re-ID result file holds one part: choose it first, with --part (in Python: fs.part('test'))"
        )
    if fs.query.all() or not fs.query.any():
        raise InputError(f"{file}: a re-ID result file needs at least one query and one gallery row")
    content = {
        f"{side}_{short}": getattr(fs, field)[rows]
        for side, rows in zip(SIDES, (fs.query, ~fs.query), strict=True)
        for field, short in FIELDS.items()
    }
    if fs.enhanced:
        content["enhanced"] = 1.0
    with replacing(file, force) as temporary:
        try:
            savemat(str(temporary), content, appendmat=False, oned_as="row")
        except MatWriteError as error:
            raise InputError(f"{file}: this set does not fit into a .mat file: {error}") from error


def _assemble(content: dict[str, NDArray[Any]]) -> FeatureSet:
    sides = {side: as_matrix(content[f"{side}_f"]) for side in SIDES}
    if sides["query"].shape[1] != sides["gallery"].shape[1]:
        raise InputError(
            f"query_f has {sides['query'].shape[1]} columns, but gallery_f has {sides['gallery'].shape[1]}"
        )
    found = {}
    for field in ("labels", "cameras"):
        vectors = {side: as_vector(f"{side}_{FIELDS[field]}", content[f"{side}_{FIELDS[field]}"]) for side in SIDES}
        for side in SIDES:
            if len(vectors[side]) != len(sides[side]):
                raise InputError(
                    f"{side}_{FIELDS[field]} has {len(vectors[side])} values, but {side}_f has {len(sides[side])} rows"
                )
        found[field] = np.concatenate([vectors[side] for side in SIDES])
    found["query"] = np.arange(len(sides["query"]) + len(sides["gallery"])) < len(sides["query"])
    refuse_more_than_memory(sum(side.nbytes for side in sides.values()), "queries and gallery together")
    features = np.concatenate([sides[side] for side in SIDES])
    return assemble(features, found, enhanced=content.get("enhanced", False))


def read_variables(data: bytes, wanted: Collection[str]) -> dict[str, NDArray[Any]]:
    """Return the wanted variables that are in the file."""
    order = ORDERS.get(data[HEADER - 2 : HEADER])
    version = struct.unpack(f"{order or '<'}H", data[HEADER - 4 : HEADER - 2])[0] >> 8 if len(data) >= HEADER else 0
    if order and version == 2:
        raise InputError("this is a MATLAB 7.3 (HDF5) file; save it again in MATLAB with save(file, '-v7')")
    if order is None or version != 1:
        raise InputError("this is not a MATLAB 5 file; save it again in MATLAB with save(file, '-v7')")
    found: dict[str, NDArray[Any]] = {}
    at, view = HEADER, memoryview(data)
    while at < len(data):
        kind, body, at = _element(view, at, order)
        if kind == COMPRESSED:
            kind, body = _decompressed(body, order, wanted)
        if kind == MATRIX:
            found |= _matrix(body, order, wanted)
    return found


def _decompressed(packed: memoryview, order: str, wanted: Collection[str]) -> tuple[int, memoryview]:
    """Return the kind and the bytes of a compressed element; one that is not wanted is not decompressed."""
    start = memoryview(zlib.decompressobj().decompress(packed, NAME_AT_LATEST))
    if len(start) < 8:
        raise InputError("the file is truncated in the middle of an element")
    kind, promised = struct.unpack_from(f"{order}II", start)
    if kind != MATRIX or _name(start[8:], order)[0] not in wanted:
        return 0, start[:0]
    refuse_more_than_memory(promised, "a variable", packed=len(packed))
    # never more than the promise, whatever the compressed bytes hold
    whole = zlib.decompressobj().decompress(packed, promised + 8)
    kind, body, _ = _element(memoryview(whole), 0, order)
    return kind, body


def _name(body: memoryview, order: str) -> tuple[str, int]:
    """Return the name of a matrix, its third element, and where the values begin."""
    at = 0
    for _ in range(3):
        _, found, at = _element(body, at, order)
    return bytes(found).decode("latin-1"), at


def _element(data: memoryview, at: int, order: str) -> tuple[int, memoryview, int]:
    """Return the kind and the bytes of the element at a position, and where the next one begins."""
    if at + 8 > len(data):
        raise InputError("the file is truncated in the middle of an element")
    kind, size = struct.unpack_from(f"{order}II", data, at)
    start = at + 8
    if kind >> 16:  # up to four bytes fit into the tag itself
        kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
        if size > 4:
            raise InputError(f"an element of {size} bytes cannot be inside its tag; the file may be damaged")
        return kind, data[start : start + size], at + 8
    if start + size > len(data):
        raise InputError(f"the file is truncated: {size:,} bytes were expected, {len(data) - start:,} are there")
    padding = 0 if kind == COMPRESSED else -size % 8
    return kind, data[start : start + size], start + size + padding


def _matrix(body: memoryview, order: str, wanted: Collection[str]) -> dict[str, NDArray[Any]]:
    _, flags, at = _element(body, 0, order)
    _, shape, at = _element(body, at, order)
    name, at = _name(body, order)
    if name not in wanted:
        return {}
    flag = struct.unpack_from(f"{order}I", flags)[0]
    if flag & 0xFF not in NUMERIC_CLASSES or flag & COMPLEX:
        what = "complex" if flag & COMPLEX else OTHER_CLASSES.get(flag & 0xFF, "of an unknown class")
        raise InputError(f"{name} must be an array of real numbers, but is {what}")
    kind, values, _ = _element(body, at, order)
    if kind not in VALUES:
        raise InputError(f"{name}: numbers of kind {kind} are not known; the file may be damaged")
    dtype = np.dtype(f"{order}{VALUES[kind]}")
    sizes = [int(size) for size in np.frombuffer(shape, dtype=f"{order}i4")]
    if min(sizes, default=-1) < 0 or math.prod(sizes) * dtype.itemsize != len(values):
        raise InputError(f"{name}: the shape {tuple(sizes)} of {dtype} does not fit {len(values):,} bytes")
    return {name: np.frombuffer(values, dtype=dtype).reshape(sizes, order="F")}
