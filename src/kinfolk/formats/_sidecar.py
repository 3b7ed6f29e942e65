"""X.npy.json beside X.npy, X.bin.json beside X.bin: facts of the whole set that these formats have no place for."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, replacing
from kinfolk.formats._common import one_truth_value, reading


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
        return one_truth_value("enhanced", content.get("enhanced", False))


def write_enhanced(stack: ExitStack, enhanced: bool, features_file: Path, force: bool) -> None:
    """Write the sidecar of enhanced features, or correct the one of enhanced features that are replaced.

    It gets its name when `stack` is closed, together with the feature file.
    """
    if enhanced or read_enhanced(features_file):
        temporary = stack.enter_context(replacing(sidecar(features_file), force))
        temporary.write_text(json.dumps({"enhanced": enhanced}) + "\n", encoding="utf-8")
