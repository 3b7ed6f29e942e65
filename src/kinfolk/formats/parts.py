"""MS-Celeb and its kin as published with learn-to-cluster: features/part1_test.bin with labels/part1_test.meta.

The authors' npy variant, feature/part0_train.npy with label/part0_train.npy, is the same with other names. The test
parts are cumulative: part3 holds part1 and more, up to part9 with 5.21 million rows.
"""

from __future__ import annotations

import re
from pathlib import Path

from kinfolk._core.errors import InputError

SUFFIXES = (".bin", ".npy")
STEM = re.compile(r"(part(\d+))_(train|test)")


def matches(folder: Path) -> bool:
    """Say whether a folder has feature files in features/ or feature/."""
    return bool(_files(folder))


def part_file(folder: Path, part: str | None) -> Path:
    """Return the feature file of a part: its whole name, "part1", "1", or train or test where there is only one."""
    files = _files(folder)
    have = ", ".join(files)
    chosen = [file for stem, file in files.items() if part is None or part in _names(stem)]
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise InputError(f"{folder}: unknown part {part!r}; the parts there are {have}")
    asked = "several parts are there" if part is None else f"part {part!r} may be several"
    raise InputError(f"{folder}: {asked}, choose one with part=: {have}")


def _files(folder: Path) -> dict[str, Path]:
    places = [folder / name for name in ("features", "feature") if (folder / name).is_dir()]
    inside = [file for place in places for file in place.iterdir() if file.suffix in SUFFIXES and file.is_file()]
    found = [file for file in inside if not file.stem.endswith((".labels", "_labels"))]
    # later ones win: parts in their order, and .bin where a stem is there twice
    ordered = sorted(found, key=lambda file: (_order(file.stem), file.suffix == ".bin"))
    return {file.stem: file for file in ordered}


def _order(stem: str) -> tuple[int, str]:
    match = STEM.fullmatch(stem)
    return (int(match[2]) if match else 10**9, stem)


def _names(stem: str) -> tuple[str, ...]:
    match = STEM.fullmatch(stem)
    return (stem, *match.groups()) if match else (stem,)
