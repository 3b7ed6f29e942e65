"""fiftyone: the samples.json of an export (FiftyOneDataset), alone or in its folder; only read.

Each sample has its vector in one field, a list of numbers or as fiftyone keeps arrays: zlib of npy, in base64. The
name is its file path; the label that of a field such as ground_truth.
"""

from __future__ import annotations

import base64
import binascii
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.json_file import read_json
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet
from kinfolk.formats._arrays import read_array
from kinfolk.formats._cells import set_of_cells
from kinfolk.formats._columns import Asked, Kind, choose_columns
from kinfolk.formats._common import reading

SAMPLES = "samples.json"
MOST_BYTES = 8 << 30  # a vector of 512 takes about 4 KB: two million samples
MOST_PARSED = 8  # times the size of the text, that parsed JSON of numbers takes at most
MOST_VECTOR_BYTES = 8 << 20  # of one vector: a million doubles


def matches(folder: Path) -> bool:
    """Return whether a folder is an export."""
    return (folder / SAMPLES).is_file()


def read(path: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the samples of a file, or of a folder that has one."""
    file = path / SAMPLES if path.is_dir() else path
    with reading(file, "the samples of fiftyone"):
        refuse_more_than_memory(MOST_PARSED * file.stat().st_size, "it")
        content = read_json(file, MOST_BYTES)
        samples = content.get("samples") if isinstance(content, dict) else content
        if not isinstance(samples, list) or not samples or not all(isinstance(sample, dict) for sample in samples):
            raise InputError('an object with a list of "samples" was expected')
        return _set_of(samples, asked)


def _set_of(samples: list[dict[str, Any]], asked: Asked | None) -> FeatureSet:
    fields = _fields(samples[0])
    kinds: list[Kind] = ["vector" if _is_vector(samples[0][field]) else "other" for field in fields.values()]
    if "vector" not in kinds:
        raise InputError(f"no field of its samples holds a vector; the fields are: {', '.join(samples[0])[:500]}")
    columns = choose_columns(list(fields), kinds, asked)
    title = columns.titles[columns.features[0]]
    vectors = [_vector(sample.get(title), title, row) for row, sample in enumerate(samples)]
    odd = next((row for row, vector in enumerate(vectors) if vector.shape != vectors[0].shape), None)
    if odd is not None:
        raise InputError(f"{title} of sample {odd} has the shape {vectors[odd].shape}, not {vectors[0].shape}")
    refuse_more_than_memory(4 * len(vectors) * vectors[0].size, title)
    known = {name: fields[columns.titles[place]] for name, place in columns.known.items()}
    cells = {name: [_cell(sample.get(field)) for sample in samples] for name, field in known.items()}
    return set_of_cells(columns, np.stack(vectors), cells)


def _fields(first: dict[str, Any]) -> dict[str, str]:
    """Return the fields that may be columns, by their titles; the true class of a sample has the title label."""
    own = {field: value for field, value in first.items() if field != "id" and not field.startswith("_")}
    fields = {f: f for f, value in own.items() if _is_vector(value) or isinstance(value, str | int | float)}
    classes = [field for field, value in own.items() if isinstance(value, dict) and _cell(value) is not None]
    truth = "ground_truth" if "ground_truth" in classes else classes[0] if len(classes) == 1 else None
    return fields if truth is None else {"label": truth, **fields}


def _is_vector(value: Any) -> bool:
    if isinstance(value, dict):
        return "$binary" in value
    return isinstance(value, list) and bool(value) and all(type(item) in (int, float) for item in value)


def _cell(value: Any) -> Any:
    """Return a value that can be in a column: of a Classification its label."""
    if isinstance(value, dict) and isinstance(value.get("label"), str):
        return value["label"]
    return value if isinstance(value, str | int | float) else None


def _vector(value: Any, title: str, row: int) -> NDArray[Any]:
    if isinstance(value, dict) and "$binary" in value:
        return _unpacked(value["$binary"], title, row)
    if not _is_vector(value):
        raise InputError(f"{title} of sample {row} is no list of numbers; every sample needs its vector")
    return np.array(value, dtype=np.float32)


def _unpacked(packed: Any, title: str, row: int) -> NDArray[Any]:
    text: Any = packed.get("base64") if isinstance(packed, dict) else packed
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), MOST_VECTOR_BYTES)
        array = read_array(io.BytesIO(content), len(content), title)
    except (TypeError, ValueError, zlib.error, binascii.Error) as error:
        raise InputError(f"{title} of sample {row} is damaged: {error}") from None
    if array.ndim != 1:
        raise InputError(f"{title} of sample {row} must be one vector, not of the shape {array.shape}")
    return array
