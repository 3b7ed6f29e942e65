"""X.npy.json beside X.npy, X.bin.json beside X.bin: facts of the whole set that these formats have no place for.

A sidecar names the features it was written with by a checksum, so that it says nothing of others that replace them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, replacing_together
from kinfolk._core.json_file import read_json
from kinfolk._core.targets import check_target
from kinfolk.features import FeatureSet
from kinfolk.formats._common import one_truth_value, reading
from kinfolk.formats._labels import refuse_foreign_labels

SAMPLE_BYTES = 1 << 16


def sidecar(features_file: Path) -> Path:
    """Return the path of the sidecar of a feature file.

    >>> sidecar(Path("faces.npy")).name
    'faces.npy.json'
    """
    return features_file.with_name(f"{features_file.name}.json")


def read_enhanced(features_file: Path) -> bool:
    """Return whether the sidecar marks the features as enhanced; without a sidecar they are not."""
    file = sidecar(features_file)
    if not file.is_file():
        return False
    with reading(existing_file(file), "JSON"):
        content = read_json(file)
        if not isinstance(content, dict):
            raise InputError('an object such as {"enhanced": true} was expected')
        marked = one_truth_value("enhanced", content.get("enhanced", False))
    return marked and content.get("checksum") in (None, _checksum(features_file))


def check_beside(fs: FeatureSet, features_file: Path, labels_file: Path, force: bool) -> None:
    """Raise InputError where the files of a set may not be written, those beside the features too.

    Labels that stand there without features are a user's, and never replaced.
    """
    if fs.labels is None:
        refuse_foreign_labels(features_file)
    elif labels_file.exists() and not features_file.exists():
        raise InputError(f"{labels_file} is there without {features_file.name}: move it away or choose another name")
    for file in _files(fs, features_file, labels_file):
        check_target(file, force=force)


@contextmanager
def replacing_with_sidecar(
    fs: FeatureSet, features_file: Path, labels_file: Path, force: bool
) -> Iterator[tuple[Path, Path | None]]:
    """Yield temporary paths for the features and, where the set has some, the labels; written together or not at all.

    A sidecar goes with them if the features are enhanced, or if it says so of features that are replaced.
    """
    check_beside(fs, features_file, labels_file, force)
    files = _files(fs, features_file, labels_file)
    marked = files[-1] == sidecar(features_file)
    with replacing_together(files, force) as temporaries:
        features, labels = temporaries[0], None if fs.labels is None else temporaries[1]
        yield features, labels
        if marked:
            content = {"enhanced": fs.enhanced, "checksum": _checksum(features)}
            temporaries[-1].write_text(json.dumps(content) + "\n", encoding="utf-8")


def _files(fs: FeatureSet, features_file: Path, labels_file: Path) -> list[Path]:
    files = [features_file] if fs.labels is None else [features_file, labels_file]
    marked = fs.enhanced or _is_ours(sidecar(features_file))
    return [*files, sidecar(features_file)] if marked else files


def _is_ours(file: Path) -> bool:
    try:
        content = read_json(file)
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "enhanced" in content


def _checksum(features_file: Path) -> str:
    """Return the size of a file and a CRC of its first and last 64 KiB: a large one is not read to open it."""
    if not features_file.is_file():
        return "missing"
    size = features_file.stat().st_size
    with features_file.open("rb") as stream:
        crc = zlib.crc32(stream.read(SAMPLE_BYTES))
        stream.seek(max(0, size - SAMPLE_BYTES))
        return f"{size}-{zlib.crc32(stream.read(), crc):08x}"
