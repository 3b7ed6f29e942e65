"""npz: several named arrays in one zip file, as numpy's savez writes it.

`features` (n, d), and where known `labels`, `cameras`, `query`, `part` (an index into `part_names`), `names`,
`part_names`, `label_names`, `enhanced` (one truth value). Other fields are left alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk.features import FeatureSet
from kinfolk.formats._common import COLUMNS, assemble, columns, reading, texts
from kinfolk.formats._npz_archive import open_npz

NAME_LISTS = ("part_names", "label_names")


def read(file: Path) -> FeatureSet:
    """Read the fields of a FeatureSet."""
    with reading(file, "an .npz file"), open_npz(file) as archive:
        there = archive.fields
        if "features" not in there:
            graph = ": this is a neighbour graph (--graph, NeighborGraph.load)" if "indices" in there else ""
            raise InputError(f"no field 'features'; the fields are: {', '.join(there) or 'none'}{graph}")
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
