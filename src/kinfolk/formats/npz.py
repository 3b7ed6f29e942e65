"""npz: several named arrays in one zip file, as numpy's savez writes it.

`features` (n, d), and where known `labels`, `cameras`, `query`, `part` (an index into `part_names`), `names`,
`part_names`, `label_names`, `enhanced` (one truth value). Other fields are left alone.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk.features import FeatureSet
from kinfolk.formats._arrays import read_array
from kinfolk.formats._common import COLUMNS, assemble, columns, reading, texts

SUFFIX = ".npy"
NAME_LISTS = ("part_names", "label_names")
DEFLATE_AT_BEST = 1100  # deflate compresses at most 1,032 times: a member that claims more is damaged


def read(file: Path) -> FeatureSet:
    """Read the fields of a FeatureSet."""
    with reading(file, "an .npz file"), zipfile.ZipFile(file) as archive:
        there = [name.removesuffix(SUFFIX) for name in archive.namelist()]
        if "features" not in there:
            graph = ": this is a neighbour graph (--graph, NeighborGraph.load)" if "indices" in there else ""
            raise InputError(f"no field 'features'; the fields are: {', '.join(there) or 'none'}{graph}")
        wanted = ("features", *COLUMNS, *NAME_LISTS, "enhanced")
        found = {field: _field(archive, field, file.stat().st_size) for field in wanted if field in there}
        lists = {field: texts(field, found.pop(field)) for field in NAME_LISTS if field in found}
        enhanced = found.pop("enhanced", False)
        return assemble(found.pop("features"), found, enhanced=enhanced, **lists)


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write everything the set has, uncompressed."""
    arrays = {"features": fs.features, **columns(fs)}
    arrays |= {field: np.array(getattr(fs, field), dtype=np.str_) for field in NAME_LISTS if getattr(fs, field)}
    if fs.enhanced:
        arrays["enhanced"] = np.array(True)
    with replacing(file, force) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _field(archive: zipfile.ZipFile, field: str, archive_size: int) -> NDArray[Any]:
    info = archive.getinfo(field + SUFFIX)
    if info.file_size > DEFLATE_AT_BEST * archive_size:
        raise InputError(f"{field} claims {info.file_size:,} bytes, more than a file of {archive_size:,} can hold")
    with archive.open(info) as stream:
        return read_array(stream, info.file_size, field)
