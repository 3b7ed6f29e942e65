"""X.npy.json beside X.npy, X.bin.json beside X.bin: facts of the whole set that these formats have no place for.

A sidecar names the features it was written with by a checksum, so that it says nothing of others that replace them.
"""

from __future__ import annotations

import json
import zlib
from contextlib import ExitStack
from pathlib import Path

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, replacing
from kinfolk.formats._common import one_truth_value, reading

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
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise InputError('an object such as {"enhanced": true} was expected')
        marked = one_truth_value("enhanced", content.get("enhanced", False))
    return marked and content.get("checksum") in (None, _checksum(features_file))


def write_enhanced(stack: ExitStack, enhanced: bool, features_file: Path, written: Path, force: bool) -> None:
    """Write the sidecar of enhanced features, or correct the one of enhanced features that are replaced.

    `written` holds the features now; both files get their names when `stack` is closed.
    """
    if enhanced or _is_ours(sidecar(features_file)):
        temporary = stack.enter_context(replacing(sidecar(features_file), force))
        content = {"enhanced": enhanced, "checksum": _checksum(written)}
        temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _is_ours(file: Path) -> bool:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
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
