"""mat: the result file of re-identification code, MATLAB 5.

gallery_f, gallery_label, gallery_cam and query_f, query_label, query_cam; rows are the queries, then the gallery.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk.features import FeatureSet, as_matrix
from kinfolk.formats._common import as_vector, assemble, reading
from kinfolk.formats.matlab import read_variables

SIDES = ("query", "gallery")
FIELDS = {"features": "f", "labels": "label", "cameras": "cam"}


def read(file: Path) -> FeatureSet:
    """Read queries and gallery; labels and cameras may be rows or columns."""
    wanted = [f"{side}_{field}" for side in SIDES for field in FIELDS.values()]
    with reading(file, "a .mat file"):
        content = read_variables(file.read_bytes(), wanted)
        missing = [name for name in wanted if name not in content]
        if missing:
            raise InputError(f"no {', '.join(missing)}; a re-ID result file needs {', '.join(wanted)}")
        return _assemble(content)


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write queries and gallery; names and parts have no place in this format, and rows are put in its order."""
    from scipy.io import savemat
    from scipy.io.matlab import MatWriteError

    missing = [field for field in ("labels", "cameras", "query") if getattr(fs, field) is None]
    if missing:
        raise InputError(f"{file}: a re-ID result file needs labels, cameras and query; this set has no {missing[0]}")
    assert fs.query is not None
    if fs.part_index is not None and len(np.unique(fs.part_index)) > 1:
        raise InputError(f"{file}: a re-ID result file holds one part; choose it first, for example part='test'")
    if fs.query.all() or not fs.query.any():
        raise InputError(f"{file}: a re-ID result file needs at least one query and one gallery row")
    content = {
        f"{side}_{short}": getattr(fs, field)[rows]
        for side, rows in zip(SIDES, (fs.query, ~fs.query), strict=True)
        for field, short in FIELDS.items()
    }
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
    return assemble(np.concatenate([sides[side] for side in SIDES]), found)
