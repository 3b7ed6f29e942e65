"""npy: the features alone; labels (see _labels.py) and the mark `enhanced` (see _sidecar.py) are in files beside it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.files import replacing
from kinfolk.features import FeatureSet
from kinfolk.formats._arrays import map_file, read_file
from kinfolk.formats._common import reading
from kinfolk.formats._labels import refuse_foreign_labels
from kinfolk.formats._sidecar import read_enhanced, write_enhanced

LARGE = 256 << 20  # float32 files larger than this are memory-mapped instead of read


def read(file: Path) -> FeatureSet:
    """Read features; a large float32 file is memory-mapped."""
    array = map_file(file, "features")
    if array.dtype != np.float32 or array.nbytes <= LARGE:
        array = read_file(file, "features")
    with reading(file, "features"):
        return FeatureSet(array, enhanced=read_enhanced(file))


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write features to X.npy and labels to X.labels.npy; the other columns are lost."""
    arrays: dict[Path, NDArray[Any]] = {file: fs.features}
    if fs.labels is not None:
        arrays[file.with_name(f"{file.stem}.labels.npy")] = fs.labels
    else:
        refuse_foreign_labels(file)
    with ExitStack() as stack:
        temporary = [stack.enter_context(replacing(target, force)) for target in arrays]
        for path, array in zip(temporary, arrays.values(), strict=True):
            with path.open("wb") as stream:
                np.save(stream, array, allow_pickle=False)
        write_enhanced(stack, fs.enhanced, file, temporary[0], force)
