"""A folder as Hugging Face's datasets writes it with save_to_disk.

data-00000-of-00002.arrow and so on, dataset_info.json and state.json. A folder of several splits has dataset_dict.json
and one such folder for each: they become the parts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk._core.json_file import read_json
from kinfolk.features import FeatureSet
from kinfolk.formats import arrow
from kinfolk.formats._columns import Asked
from kinfolk.formats._common import reading, texts
from kinfolk.formats._shards import in_order, joined

SPLITS, STATE, INFO = "dataset_dict.json", "state.json", "dataset_info.json"


def matches(folder: Path) -> bool:
    """Return whether a folder is one of save_to_disk, or of a cache with its dataset_info.json beside the files."""
    return (folder / SPLITS).is_file() or ((folder / INFO).is_file() and any(folder.glob("*.arrow")))


def read(folder: Path, asked: Asked | None = None) -> FeatureSet:
    """Read all files of a split in their order, and all splits."""
    if not (folder / SPLITS).is_file():
        return joined(folder, [arrow.read(file, asked) for file in _files(folder)])
    with reading(folder / SPLITS, "the splits of a dataset"):
        facts = read_json(folder / SPLITS)
        names = texts("splits", facts.get("splits") if isinstance(facts, dict) else None)
        if not names or len(set(names)) < len(names) or any(Path(name).name != name for name in names):
            raise InputError("splits must be names of folders, each once")
    sets = [joined(folder, [arrow.read(file, asked) for file in _files(folder / name)]) for name in names]
    part = np.repeat(np.arange(len(sets)), [len(fs) for fs in sets])
    return joined(folder, sets, part_index=part, part_names=names)


def _files(folder: Path) -> list[Path]:
    """Return the files that state.json lists, else all there are, by number; those of a cache are left out."""
    found = in_order(file for file in folder.glob("*.arrow") if not file.name.startswith("cache-"))
    if (folder / STATE).is_file():
        with reading(folder / STATE, "the state of a dataset"):
            facts = read_json(folder / STATE)
            listed = facts.get("_data_files") if isinstance(facts, dict) else None
            if isinstance(listed, list) and listed:
                found = [_listed(folder, entry) for entry in listed]
    if not found:
        raise InputError(f"{folder}: no .arrow files are there")
    return found


def _listed(folder: Path, entry: object) -> Path:
    name = entry.get("filename") if isinstance(entry, dict) else None
    if not isinstance(name, str) or Path(name).name != name or not (folder / name).is_file():
        raise InputError(f"it lists {str(name)[:60]!r}, which is no file of the folder")
    return folder / name
