"""npz: several named arrays in one zip file, as numpy's savez writes it.

`features` (n, d), and where known `labels`, `cameras`, `query`, `part` (an index into `part_names`), `names`,
`part_names`, `label_names`, `enhanced` (one truth value). Other fields are left alone. An archive without `features` is
read by the names of its fields, as an HDF5 file is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk.features import FeatureSet
from kinfolk.formats._columns import Asked
from kinfolk.formats._common import COLUMNS, NAME_LISTS, assemble, columns, reading, texts
from kinfolk.formats._named_arrays import Stored, set_of_arrays
from kinfolk.formats._npz_archive import open_npz


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the fields of a FeatureSet; without `features`, those that are recognised as in a table."""
    with reading(file, "an .npz file"), open_npz(file) as archive:
        there = archive.fields
        if "features" not in there and "indices" in there:
            raise InputError("this is a neighbour graph, no features (--graph, NeighborGraph.load)")
        if "features" not in there or asked:
            stored = {
                name: Stored(header.shape, header.dtype.kind in "biuf") for name, header in archive.headers().items()
            }
            return set_of_arrays(stored, lambda name: archive.read([name])[name], asked)
        found = archive.read(("features", *COLUMNS, *NAME_LISTS, "enhanced"))
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
