"""Re-ID layouts: a text file or a folder lists the pictures, a feature file has their vectors in the same order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file
from kinfolk.features import FeatureSet
from kinfolk.formats import npy, raw
from kinfolk.formats._common import assemble, read_lines, reading, text_array
from kinfolk.formats._shards import joined

Entry = tuple[str, int, int]  # name, identity, camera
PARTS = ("train", "test")


def find_features(folder: Path, stem: str) -> Path | None:
    """Return stem.npy or stem.bin of the folder itself or of its features/ folder."""
    places = (folder, folder / "features", folder / "feature")
    candidates = (place / f"{stem}{suffix}" for place in places for suffix in (".npy", ".bin"))
    return next((path for path in candidates if path.is_file()), None)


def read_entries(file: Path, parse: Callable[[str], Entry | None], expected: str) -> list[Entry]:
    """Parse every line of a list; `expected` is an example of a line, for the error."""
    entries = []
    for number, line in enumerate(read_lines(file), start=1):
        entry = parse(line)
        if entry is None:
            raise InputError(f"{file}: line {number}: {line[:60]!r} is not a line such as {expected!r}")
        entries.append(entry)
    return entries


def listed_set(
    entries: list[Entry], list_file: Path, features_file: Path, dim: int | None, part: str, query: bool
) -> FeatureSet:
    """Return the set of one list and its feature file."""
    existing_file(features_file)
    fs = raw.read(features_file, dim) if features_file.suffix == ".bin" else npy.read(features_file)
    if len(fs) != len(entries):
        raise InputError(f"{list_file} names {len(entries):,} pictures, but {features_file} has {len(fs):,} rows")
    names, labels, cameras = zip(*entries, strict=True)
    found = {
        "labels": np.array(labels),
        "cameras": np.array(cameras),
        "names": text_array(names),
        "query": np.full(len(fs), query),
        "part": np.full(len(fs), PARTS.index(part)),
    }
    with reading(list_file, "a list of pictures"):
        return assemble(fs.features, found, PARTS, enhanced=fs.enhanced)


def read_layout(
    folder: Path,
    lists: Sequence[tuple[str, str, str, bool]],
    entries: Callable[[str], list[Entry]],
    dim: int | None,
) -> FeatureSet:
    """Read every list that has features: (feature stem, list file, part, query?).

    The test part needs all of its lists; the training part may be missing.
    """
    chosen = [(find_features(folder, stem), stem, name, part, query) for stem, name, part, query in lists]
    present = [row for row in chosen if row[0] is not None]
    if not present:
        raise InputError(f"{folder}: the lists are there, but no features: expected {lists[0][0]}.npy and so on")
    test = [row for row in chosen if row[3] == "test"]
    missing = [row[1] for row in test if row[0] is None]
    if missing and len(missing) < len(test):
        raise InputError(f"{folder}: {missing[0]}.npy is missing: the test part needs queries and gallery")
    sets = []
    for features_file, _, name, part, query in present:
        assert features_file is not None
        sets.append(listed_set(entries(name), folder / name, features_file, dim, part, query))
    return _drop_unused_parts(joined(folder, sets))


def _drop_unused_parts(fs: FeatureSet) -> FeatureSet:
    assert fs.part_index is not None
    used, numbers = np.unique(fs.part_index, return_inverse=True)
    return replace(fs, part_index=numbers, part_names=tuple(fs.part_names[number] for number in used))
