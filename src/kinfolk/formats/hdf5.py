"""hdf5 (extra): one dataset a column, at the top of the file, named as the titles of a table; `enhanced` an attribute.

Links to other files, virtual datasets and storage outside the file are refused: a file of features holds its features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.disk import reserve
from kinfolk._core.errors import InputError
from kinfolk._core.extras import require
from kinfolk._core.files import replacing
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk._core.rows import BLOCK_BYTES, blocks
from kinfolk.features import FeatureSet
from kinfolk.formats._columns import Asked
from kinfolk.formats._common import NAME_LISTS, columns, one_truth_value, reading, text_array
from kinfolk.formats._named_arrays import ENHANCED, Stored, set_of_arrays

STRUCTURE = 1 << 16  # bytes: more than what HDF5 writes around ten datasets


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the datasets that are recognised; others are left alone."""
    h5py = require("h5py", extra="hdf5")
    with reading(file, "an HDF5 file"), h5py.File(file, "r", locking=False) as source:
        found = {name: source[name] for name in source if _is_dataset(h5py, source, name)}
        if not found and len(source):
            groups = ", ".join(source)
            raise InputError(
                f"the datasets must be at the top of the file, not in groups; it has the groups {groups[:500]}"
            )
        stored = {name: Stored(tuple(data.shape or ()), _is_numeric(data)) for name, data in found.items()}
        fs = set_of_arrays(stored, lambda name: _array(h5py, name, found[name]), asked)
        enhanced = one_truth_value(ENHANCED, source.attrs[ENHANCED]) if ENHANCED in source.attrs else fs.enhanced
        return replace(fs, enhanced=enhanced)


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write everything the set has, uncompressed."""
    h5py = require("h5py", extra="hdf5")
    with replacing(file, force) as temporary, _reserved(h5py, temporary, fs) as target:
        features = target.create_dataset("features", fs.features.shape, dtype=np.float32)
        for start, block in blocks(fs.features):
            features[start : start + len(block)] = block
        for name, column in columns(fs).items():
            if column.dtype.kind == "U":
                _write_texts(h5py, target, name, column.tolist())
            else:
                target[name] = column
        for name in NAME_LISTS:
            if getattr(fs, name):
                _write_texts(h5py, target, name, getattr(fs, name))
        target.attrs[ENHANCED] = fs.enhanced


def _reserved(h5py: Any, file: Path, fs: FeatureSet) -> Any:
    """Open a new file for which there is space: on a full disk HDF5 ends the process with a segmentation fault."""
    lists = [getattr(fs, name) for name in NAME_LISTS if getattr(fs, name)]
    texts = sum(len(each) * max(1, *(len(text.encode("utf-8")) for text in each)) for each in lists)
    reserve(file, 4 * fs.features.size + sum(column.nbytes for column in columns(fs).values()) + texts + STRUCTURE)
    return h5py.File(file, "w", locking=False)


def _write_texts(h5py: Any, target: Any, name: str, texts: Sequence[str]) -> None:
    """Write texts of a fixed width: those of any length cannot hold a NUL."""
    encoded = [text.encode("utf-8") for text in texts]
    width = max(1, *map(len, encoded))
    target[name] = np.array(encoded, dtype=h5py.string_dtype("utf-8", width))


def _is_dataset(h5py: Any, source: Any, name: str) -> bool:
    if isinstance(source.get(name, getlink=True), h5py.ExternalLink | h5py.SoftLink):
        raise InputError(f"{name} is a link to data elsewhere, which is not followed")
    data = source[name]
    if not isinstance(data, h5py.Dataset):
        return False
    if data.is_virtual or data.external:
        raise InputError(f"{name} is stored in other files, which are not read")
    return True


def _is_numeric(data: Any) -> bool:
    return data.dtype.kind in "biuf"


def _array(h5py: Any, name: str, data: Any) -> NDArray[Any]:
    is_text = h5py.check_string_dtype(data.dtype) is not None
    # texts are held three times: as they are stored, decoded, as an array
    refuse_more_than_memory((3 if is_text else 1) * data.size * max(4, data.dtype.itemsize), name)
    if is_text:
        return text_array(data.asstr()[...].ravel().tolist())
    if not _is_numeric(data):
        raise InputError(f"{name} must be numbers, truth values or texts, not {data.dtype}")
    if data.ndim != 2:
        return data[...]
    array = np.empty(data.shape, dtype=np.float32)
    rows = max(1, BLOCK_BYTES // (data.shape[1] * data.dtype.itemsize))
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, which is refused by row
        for start in range(0, len(array), rows):
            array[start : start + rows] = data[start : start + rows]
    return array
