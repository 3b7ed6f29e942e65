"""Sets in several files: in the order of their numbers, so that shard 10 comes after shard 9; joined to one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kinfolk._core.errors import InputError
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import ROW_FIELDS, FeatureSet

NUMBER = re.compile(r"[0-9]+")


def in_order(files: Iterable[Path]) -> list[Path]:
    """Sort files by the numbers in their names.

    >>> [file.name for file in in_order([Path("emb_10.npy"), Path("emb_9.npy")])]
    ['emb_9.npy', 'emb_10.npy']
    """
    return sorted(files, key=lambda file: ([int(number) for number in NUMBER.findall(file.name)], file.name))


def joined(folder: Path, sets: Sequence[FeatureSet], **changes: Any) -> FeatureSet:
    """Return one set with the rows of several; a column that one of them lacks is left out.

    >>> import numpy as np
    >>> joined(Path("faces"), [FeatureSet(np.eye(2)), FeatureSet(np.eye(2))])
    FeatureSet(4 x 2)
    """
    dims = sorted({fs.dim for fs in sets})
    if len(dims) != 1:
        raise InputError(f"{folder}: the feature files differ in dimension: {', '.join(map(str, dims))}")
    if len({fs.enhanced for fs in sets}) > 1:
        raise InputError(f"{folder}: some of the feature files are marked as enhanced, others are not")
    if len({(fs.part_names, fs.label_names) for fs in sets}) > 1:
        raise InputError(f"{folder}: the feature files differ in the names of labels or parts")
    if len(sets) == 1 and not changes:
        return sets[0]
    refuse_more_than_memory(sum(4 * fs.features.size for fs in sets), f"{folder}: its files together")
    lacking: dict[str, Any] = {name: None for name in ROW_FIELDS if any(getattr(fs, name) is None for fs in sets)}
    return replace(FeatureSet.concat([replace(fs, **lacking) for fs in sets]), **changes)
