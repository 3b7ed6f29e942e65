"""Labels in a file of their own: .npy, .meta (one integer a line) or .txt (one integer or word a line)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.columns import INTEGER
from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file
from kinfolk.features import FeatureSet
from kinfolk.formats._arrays import read_file
from kinfolk.formats._common import as_vector, labels_from_texts, read_lines, reading

SUFFIXES = (".npy", ".txt", ".meta")


def find_labels(features_file: Path) -> Path | None:
    """Return the label file of a feature file, beside it or in ../labels or ../label; None if there is none."""
    stem, here = features_file.stem, features_file.absolute().parent
    beside = [here / f"{stem}{end}" for end in (".labels.npy", ".labels.txt", "_labels.npy", "_labels.txt", ".meta")]
    folders = (here.parent / "labels", here.parent / "label")
    across = [folder / f"{stem}{end}" for folder in folders for end in (".meta", ".npy", ".txt")]
    candidates = (path for path in beside + across if path != features_file.absolute())
    return next((path for path in candidates if path.is_file()), None)


def refuse_foreign_labels(features_file: Path) -> None:
    """Raise InputError if a file that is there would be read as the labels of features that have none."""
    found = find_labels(features_file)
    if found is not None:
        raise InputError(f"{found} would be read as the labels of {features_file}, which has none: move it away first")


def attach_labels(fs: FeatureSet, features_file: Path, labels_file: Path) -> FeatureSet:
    """Return the set with the labels of a file, one for each row."""
    labels, names = read_labels(labels_file)
    if len(labels) != len(fs):
        whole = features_file.suffix.lower() == ".bin" and len(labels) > 0 and fs.features.size % len(labels) == 0
        hint = f"; with dim={fs.features.size // len(labels)} they would agree" if whole else ""
        raise InputError(
            f"{labels_file} has {len(labels):,} labels, but {features_file} has {len(fs):,} rows"
            f" of {fs.dim} values{hint}"
        )
    with reading(labels_file, "labels"):
        return replace(fs, labels=labels, label_names=names)


def read_labels(file: Path) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the labels (n,) of a file and, where they are texts, the texts that the numbers stand for."""
    existing_file(file)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{file}: labels are read from {', '.join(SUFFIXES)} files")
    if suffix == ".npy":
        array = read_file(file, "labels")
        with reading(file, "labels"):
            labels = as_vector("labels", array)
        return labels_from_texts(labels.tolist()) if labels.dtype.kind == "U" else (labels, ())
    with reading(file, "labels"):
        numbers = _plain_integers(file.read_bytes())
    if numbers is not None:
        return numbers, ()
    lines = read_lines(file)
    if suffix == ".meta":
        for number, line in enumerate(lines, start=1):
            if not INTEGER.fullmatch(line):
                raise InputError(f"{file}: line {number}: {line[:40]!r} is not an integer label")
    return labels_from_texts(lines)


def _plain_integers(data: bytes) -> NDArray[np.int64] | None:
    """Parse all lines at once, fast enough for millions; None if a line is not a plain integer."""
    data = data.rstrip().replace(b"\r\n", b"\n")
    if not data or data.translate(None, b"0123456789-\n") or b"\n\n" in data or data.startswith(b"\n"):
        return None
    if b"-" in data and re.search(rb"-(?![0-9])|[0-9]-", data):
        return None
    labels = np.fromstring(data, dtype=np.int64, sep="\n")
    fit = labels.max() < np.iinfo(np.int64).max  # a number that does not fit is read as the largest one
    return labels if fit else None
