"""VeRi-776 as published: name_train.txt, name_query.txt, name_test.txt, and features in their order."""

from __future__ import annotations

import re
from pathlib import Path

from kinfolk.features import FeatureSet
from kinfolk.formats._lists import Entry, read_entries, read_layout

LISTS = (
    ("train", "name_train.txt", "train", False),
    ("query", "name_query.txt", "test", True),
    ("test", "name_test.txt", "test", False),
)
EXAMPLE = "0002_c002_00030600_0.jpg"
LINE = re.compile(r"(\d{1,9})_c(\d{1,9})_\S+")


def matches(folder: Path) -> bool:
    """Return whether a folder has the lists of VeRi-776."""
    return any((folder / name).is_file() for _, name, _, _ in LISTS)


def read(folder: Path, dim: int | None = None) -> FeatureSet:
    """Read train.npy as the part train, query.npy and test.npy (the gallery) as the part test."""
    return read_layout(folder, LISTS, lambda name: read_entries(folder / name, _parse, EXAMPLE), dim)


def _parse(line: str) -> Entry | None:
    match = LINE.fullmatch(line)
    return (line, int(match[1]), int(match[2])) if match else None
