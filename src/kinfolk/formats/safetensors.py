"""safetensors: tensors features, labels, cameras, query, part; names, lists of names, enhanced as JSON metadata."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk._core.json_file import parse_json
from kinfolk.features import FeatureSet
from kinfolk.formats._columns import Asked
from kinfolk.formats._common import COLUMNS, NAME_LISTS, assemble, columns, reading, text_array, texts
from kinfolk.formats._named_arrays import Stored, set_of_arrays


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the tensors of a FeatureSet; bfloat16 features become float32."""
    with reading(file, "a safetensors file"), safe_open(file, framework="np") as tensors:
        there = list(tensors.keys())
        if "features" not in there or asked:
            stored = {name: Stored(tuple(tensors.get_slice(name).get_shape()), True) for name in there}
            return set_of_arrays(stored, lambda name: _tensor(file, tensors, name), asked)
        features = _tensor(file, tensors, "features")
        found = {name: tensors.get_tensor(name) for name in COLUMNS if name in there}
        metadata = tensors.metadata() or {}
        lists = {name: texts(name, parse_json(metadata[name])) for name in (*NAME_LISTS, "names") if name in metadata}
        if "names" in lists:
            found["names"] = text_array(lists.pop("names"))
        return assemble(features, found, enhanced=parse_json(metadata.get("enhanced", "false")), **lists)


def write(fs: FeatureSet, file: Path, force: bool) -> None:
    """Write everything the set has."""
    tensors = {"features": fs.features, **columns(fs)}
    lists = {name: list(getattr(fs, name)) for name in NAME_LISTS if getattr(fs, name)}
    if "names" in tensors:
        lists["names"] = tensors.pop("names").tolist()
    metadata = {name: json.dumps(value) for name, value in lists.items()}
    if fs.enhanced:
        metadata["enhanced"] = json.dumps(True)
    with replacing(file, force) as temporary:
        try:
            save_file({name: np.ascontiguousarray(t) for name, t in tensors.items()}, temporary, metadata=metadata)
        except SafetensorError as error:
            raise InputError(f"{file}: this set does not fit into a safetensors file: {error}") from error


def _tensor(file: Path, tensors: Any, name: str) -> NDArray[Any]:
    return _bfloat16(file, name) if tensors.get_slice(name).get_dtype() == "BF16" else tensors.get_tensor(name)


def _bfloat16(file: Path, name: str) -> NDArray[np.float32]:
    """Read a bfloat16 tensor, which numpy does not know: they are the upper half of the bits of float32."""
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        tensor = parse_json(stream.read(length))[name]
        start, end = tensor["data_offsets"]
        stream.seek(8 + length + start)
        upper = np.frombuffer(stream.read(end - start), dtype="<u2").reshape(tensor["shape"])
    return (upper.astype(np.uint32) << 16).view(np.float32)
