"""bin: float32 values without a header, row after row; always memory-mapped, so opening reads nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk._core.files import settled
from kinfolk._core.rows import blocks
from kinfolk.features import FeatureSet
from kinfolk.formats._common import reading
from kinfolk.formats._sidecar import check_beside, read_enhanced, replacing_with_sidecar

DEFAULT_DIM = 256  # the published MS-Celeb features
USUAL_DIMS = (128, 256, 384, 512, 768, 1024, 2048)


def read(file: Path, dim: int | None = None) -> FeatureSet:
    """Memory-map the vectors; the file must hold a whole number of rows."""
    settled(file)
    dim = DEFAULT_DIM if dim is None else dim
    with reading(file, "raw float32 vectors"):
        size = file.stat().st_size
        if size % (4 * dim):
            fitting = [str(usual) for usual in USUAL_DIMS if size % (4 * usual) == 0]
            others = (
                f"dim={' or dim='.join(fitting)} would fit" if fitting else "none of the usual dimensions fits either"
            )
            raise InputError(
                f"{size:,} bytes are not a whole number of rows of {dim} float32 values:"
                f" the file is truncated or dim={dim} is wrong ({others})"
            )
        features = np.memmap(file, np.dtype("<f4"), "r", shape=(size // (4 * dim), dim))
        return FeatureSet(features, enhanced=read_enhanced(file))


def check(fs: FeatureSet, file: Path, force: bool) -> None:
    """Raise InputError where `write` would refuse."""
    check_beside(fs, file, file.with_suffix(".meta"), force)


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write vectors to X.bin and labels to X.meta; the other columns and the dimension are lost."""
    with replacing_with_sidecar(fs, file, file.with_suffix(".meta"), force) as (vectors, meta):
        if meta is not None and fs.labels is not None:
            meta.write_text("".join(f"{label}\n" for label in fs.labels.tolist()), encoding="ascii")
        with vectors.open("wb") as stream:
            for _, block in blocks(fs.features):
                stream.write(np.ascontiguousarray(block, dtype="<f4").data)
