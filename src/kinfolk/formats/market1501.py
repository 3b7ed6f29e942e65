"""Market-1501 as published: the folders bounding_box_train, query, bounding_box_test, and features in their order.

Instead of the pictures, lists of them will do: bounding_box_train.txt and so on, one file name a line. DukeMTMC-reID
has the same layout.
"""

from __future__ import annotations

import re
from pathlib import Path

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats._lists import Entry, read_entries, read_layout

LISTS = (
    ("bounding_box_train", "bounding_box_train", "train", False),
    ("query", "query", "test", True),
    ("bounding_box_test", "bounding_box_test", "test", False),
)
EXAMPLE = "0002_c1s1_000451_03.jpg"
NAME = re.compile(r"(-1|\d{1,9})_c(\d{1,9})(?:s\d+)?_\S+")
PICTURES = {".jpg", ".jpeg", ".png"}


def matches(folder: Path) -> bool:
    """Return whether a folder has the picture folders of Market-1501, or lists of them."""
    names = ("bounding_box_train", "bounding_box_test")
    return any((folder / name).is_dir() or (folder / f"{name}.txt").is_file() for name in names)


def read(folder: Path, dim: int | None = None) -> FeatureSet:
    """Read bounding_box_train.npy as the part train, query.npy and bounding_box_test.npy as the part test.

    Rows follow the lists; without a list, the file names in alphabetical order. Label -1 is junk, which the re-ID
    protocol leaves out; 0 are the distractors, which belong to no identity.
    """
    return read_layout(folder, LISTS, lambda name: _entries(folder / name), dim)


def _entries(pictures: Path) -> list[Entry]:
    listed = pictures.with_suffix(".txt")
    if listed.is_file():
        return read_entries(listed, _parse, EXAMPLE)
    if not pictures.is_dir():
        raise InputError(f"{pictures} is neither a folder of pictures nor is there a list {listed.name}")
    entries = []
    for name in sorted(path.name for path in pictures.iterdir() if path.suffix.lower() in PICTURES):
        entry = _parse(name)
        if entry is None:
            raise InputError(f"{pictures}: {name[:60]!r} is not a file name such as {EXAMPLE!r}")
        entries.append(entry)
    return entries


def _parse(name: str) -> Entry | None:
    match = NAME.fullmatch(name)
    return (name, int(match[1]), int(match[2])) if match else None
