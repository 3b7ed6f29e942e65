"""MS-Celeb and similar sets as published with learn-to-cluster: features/part1_test.bin, labels/part1_test.meta.

The npy variant of the paper's authors has the names feature/part0_train.npy and label/part0_train.npy. The test
parts are cumulative: part3 holds part1 and more, up to part9 with 5.21 million rows.
"""

from __future__ import annotations

import re
from pathlib import Path

from kinfolk._core.errors import InputError

SUFFIXES = (".bin", ".npy")
STEM = re.compile(r"(part(\d+))_(train|test)")


def matches(folder: Path) -> bool:
    """Return whether a folder has feature files in features/ or feature/."""
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
    problem = "there are several parts" if part is None else f"several parts match {part!r}"
    raise InputError(f"{folder}: {problem}, choose one with part=: {have}")


def _files(folder: Path) -> dict[str, Path]:
    places = [folder / name for name in ("features", "feature") if (folder / name).is_dir()]
    inside = [file for place in places for file in place.iterdir() if file.suffix in SUFFIXES and file.is_file()]
    found = [file for file in inside if not file.stem.endswith((".labels", "_labels"))]
    # in the order of the parts; where a stem has both suffixes, .bin comes last and is kept
    ordered = sorted(found, key=lambda file: (_order(file.stem), file.suffix == ".bin"))
    return {file.stem: file for file in ordered}


def _order(stem: str) -> tuple[int, str]:
    match = STEM.fullmatch(stem)
    return (int(match[2]) if match else 10**9, stem)


def _names(stem: str) -> tuple[str, ...]:
    match = STEM.fullmatch(stem)
    return (stem, *match.groups()) if match else (stem,)
