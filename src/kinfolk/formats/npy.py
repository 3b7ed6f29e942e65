"""npy: the features alone; labels (see _labels.py) and the mark `enhanced` (see _sidecar.py) are in files beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinfolk._core.files import settled
from kinfolk.features import FeatureSet
from kinfolk.formats._arrays import map_file, read_file
from kinfolk.formats._common import reading
from kinfolk.formats._sidecar import check_beside, read_enhanced, replacing_with_sidecar

LARGE = 256 << 20  # float32 files larger than this are memory-mapped instead of read


def read(file: Path) -> FeatureSet:
    """Read features; a large float32 file is memory-mapped."""
    settled(file)
    array = map_file(file, "features")
    if array.dtype != np.float32 or array.nbytes <= LARGE:
        array = read_file(file, "features")
    with reading(file, "features"):
        return FeatureSet(array, enhanced=read_enhanced(file))


def check(fs: FeatureSet, file: Path, force: bool) -> None:
    """Raise InputError where `write` would refuse."""
    check_beside(fs, file, labels_file(file), force)


def labels_file(file: Path) -> Path:
    """Return where the labels of a feature file are written.

    >>> labels_file(Path("faces.npy")).name
    'faces.labels.npy'
    """
    return file.with_name(f"{file.stem}.labels.npy")


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write features to X.npy and labels to X.labels.npy; the other columns are lost."""
    with replacing_with_sidecar(fs, file, labels_file(file), force) as (features, labels):
        np.save(features, fs.features, allow_pickle=False)
        if labels is not None and fs.labels is not None:
            np.save(labels, fs.labels, allow_pickle=False)
