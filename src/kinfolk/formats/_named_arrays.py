"""A FeatureSet of named arrays, as HDF5 and torch files hold them: their names mean what titles mean in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet
from kinfolk.formats._cells import set_of_cells
from kinfolk.formats._columns import TITLES, Asked, Kind, choose_columns
from kinfolk.formats._common import NAME_LISTS, as_vector, one_truth_value, texts

ENHANCED = "enhanced"  # one value for the whole set


class Stored(NamedTuple):
    """What is known of an array before it is read: its shape, and whether it holds numbers."""

    shape: tuple[int, ...]
    is_numeric: bool


def set_of_arrays(
    stored: Mapping[str, Stored], read: Callable[[str], NDArray[Any]], asked: Asked | None = None
) -> FeatureSet:
    """Return the set of the arrays that are recognised; only those are read, by read(name).

    >>> import numpy as np
    >>> arrays = {"embeddings": np.eye(2), "pid": np.array([7, 8]), "loss": np.ones(5)}
    >>> stored = {name: Stored(array.shape, True) for name, array in arrays.items()}
    >>> set_of_arrays(stored, arrays.__getitem__).labels
    array([7, 8])
    """
    whole = [ENHANCED] if ENHANCED in stored and math.prod(stored[ENHANCED].shape) == 1 else []
    columns_of = {name: array for name, array in stored.items() if name not in (*NAME_LISTS, *whole)}
    kinds = [_kind(name, array) for name, array in columns_of.items()]
    if "vector" not in kinds:
        have = ", ".join(f"{name} {array.shape}" for name, array in stored.items()) or "none"
        raise InputError(f"no matrix of numbers that could be the features; the arrays are: {have[:500]}")
    chosen = choose_columns(list(columns_of), kinds, asked)
    title = chosen.titles[chosen.features[0]]
    # as it is stored, and as float32
    refuse_more_than_memory(2 * 4 * math.prod(stored[title].shape), title)
    features = read(title)
    lists = {name: texts(name, read(name)) for name in NAME_LISTS if name in stored}
    cells = {name: as_vector(name, read(chosen.titles[place])).tolist() for name, place in chosen.known.items()}
    for name, values in cells.items():
        if len(values) != len(features):
            raise InputError(f"{name} has {len(values):,} values, but {title} has {len(features):,} rows")
    if "part" in cells and "part_names" in lists:
        cells["part"] = _named_parts(cells["part"], lists["part_names"])
    fs = set_of_cells(chosen, features, cells, **lists)
    return replace(fs, enhanced=one_truth_value(ENHANCED, read(ENHANCED))) if whole else fs


def _kind(name: str, array: Stored) -> Kind:
    if len(array.shape) != 2 or 0 in array.shape or not array.is_numeric:
        return "other"
    is_column = array.shape[1] == 1 and any(name.lower() in synonyms for synonyms in TITLES.values())
    return "other" if is_column else "vector"


def _named_parts(numbers: list[Any], names: tuple[str, ...]) -> list[str]:
    if not all(type(number) is int and 0 <= number < len(names) for number in numbers):
        raise InputError(f"part must be positions in the {len(names)} part_names")
    return [names[number] for number in numbers]
