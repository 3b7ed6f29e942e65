"""npy: the features alone; labels (see _labels.py) and the mark `enhanced` (see _sidecar.py) are in files beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinfolk._core.files import settled
from kinfolk.features import FeatureSet
from kinfolk.formats._arrays import map_file, read_file
from kinfolk.formats._common import reading
from kinfolk.formats._labels import refuse_foreign_labels
from kinfolk.formats._sidecar import read_enhanced, replacing_with_sidecar

LARGE = 256 << 20  # float32 files larger than this are memory-mapped instead of read


def read(file: Path) -> FeatureSet:
    """Read features; a large float32 file is memory-mapped."""
    settled(file)
    array = map_file(file, "features")
    if array.dtype != np.float32 or array.nbytes <= LARGE:
        array = read_file(file, "features")
    with reading(file, "features"):
        return FeatureSet(array, enhanced=read_enhanced(file))


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write features to X.npy and labels to X.labels.npy; the other columns are lost."""
    if fs.labels is None:
        refuse_foreign_labels(file)
    labels_file = file.with_name(f"{file.stem}.labels.npy")
    with replacing_with_sidecar(fs, file, labels_file, force) as (features, labels):
        np.save(features, fs.features, allow_pickle=False)
        if labels is not None and fs.labels is not None:
            np.save(labels, fs.labels, allow_pickle=False)
