"""MSMT17 as published: list_train.txt, list_val.txt, list_query.txt, list_gallery.txt, and features in their order."""

from __future__ import annotations

import re
from pathlib import Path

from kinfolk.features import FeatureSet
from kinfolk.formats._lists import Entry, read_entries, read_layout

LISTS = (
    ("train", "list_train.txt", "train", False),
    ("val", "list_val.txt", "train", False),
    ("query", "list_query.txt", "test", True),
    ("gallery", "list_gallery.txt", "test", False),
)
EXAMPLE = "0000/0000_000_01_0303morning_0008_0.jpg 0"
LINE = re.compile(r"(\S+) (\d{1,9})")
CAMERA_FIELD = 2


def matches(folder: Path) -> bool:
    """Return whether a folder has the lists of MSMT17."""
    return any((folder / name).is_file() for _, name, _, _ in LISTS)


def read(folder: Path, dim: int | None = None) -> FeatureSet:
    """Read train.npy (and val.npy) as the part train, query.npy and gallery.npy as the part test.

    The published lists number the identities of both parts from 0. They are different people, so the test identities
    are moved up behind the largest training identity: no label is shared.
    """
    train_lists = [folder / name for _, name, part, _ in LISTS if part == "train" and (folder / name).is_file()]
    train_labels = [label for file in train_lists for _, label, _ in read_entries(file, _parse, EXAMPLE)]
    first_test = max(train_labels, default=-1) + 1
    offsets = {name: first_test if part == "test" else 0 for _, name, part, _ in LISTS}

    def entries(name: str) -> list[Entry]:
        listed = read_entries(folder / name, _parse, EXAMPLE)
        return [(path, label + offsets[name], camera) for path, label, camera in listed]

    return read_layout(folder, LISTS, entries, dim)


def _parse(line: str) -> Entry | None:
    match = LINE.fullmatch(line)
    fields = Path(match[1]).name.split("_") if match else []
    if match is None or len(fields) <= CAMERA_FIELD or not re.fullmatch(r"\d{1,9}", fields[CAMERA_FIELD]):
        return None
    return match[1], int(match[2]), int(fields[CAMERA_FIELD])
