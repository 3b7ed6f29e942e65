"""pt: what torch.save wrote of tensors, alone or in dicts and lists; needs torch, and never unpickles an object.

A tensor (n, d); a list of tensors; a dict of named tensors and lists, such as {"embeddings": ..., "labels": ...,
"names": [...]}; a dict from a name to its vector.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.extras import require
from kinfolk._core.memory import refuse_more_than_memory
from kinfolk.features import FeatureSet
from kinfolk.formats._columns import Asked
from kinfolk.formats._common import reading, text_array
from kinfolk.formats._named_arrays import Stored, set_of_arrays

SAFE_TORCH = (2, 6)  # before it a file could run code in spite of weights_only (CVE-2025-32434)


def read(file: Path, asked: Asked | None = None) -> FeatureSet:
    """Read the tensors; a file that holds anything else than tensors, texts, numbers, lists and dicts is refused."""
    torch = require("torch", extra="train")
    with reading(file, "a file of torch.save"):
        content = _loaded(torch, file)
        if isinstance(content, Mapping):
            return _from_mapping(torch, content, asked)
        return FeatureSet(_features(torch, content))


def _loaded(torch: Any, file: Path) -> Any:
    import pickle  # for the name of the error alone: torch's own reader of weights takes tensors and plain values

    version = tuple(int(number) for number in torch.__version__.split("+")[0].split(".")[:2])
    if version < SAFE_TORCH:
        raise InputError(f"torch {torch.__version__} cannot read a stranger's file safely: 2.6 or newer is needed")
    _check_archive(file)
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InputError(
            "it holds objects, which could run code and are never loaded; save tensors, lists and dicts of them alone"
        ) from None


def _check_archive(file: Path) -> None:
    """Refuse what is not the zip file of torch 1.6 and later, and compressed members, which may be of any size."""
    if not zipfile.is_zipfile(file):
        raise InputError("it is not a file of torch.save (torch 1.6 or newer): save it again with a newer torch")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise InputError("its members are compressed, which torch.save does not do")
    refuse_more_than_memory(sum(member.file_size for member in members), "its tensors")


def _from_mapping(torch: Any, content: Mapping[Any, Any], asked: Asked | None) -> FeatureSet:
    if not all(isinstance(name, str) for name in content):
        raise InputError("the keys of its dict must be texts")
    tensors = [value for value in content.values() if isinstance(value, torch.Tensor)]
    if content and len(tensors) == len(content) and all(t.dim() == 1 and t.is_floating_point() for t in tensors):
        return FeatureSet(_features(torch, tensors), names=text_array(list(content)))
    arrays = {name: array for name, value in content.items() if (array := _array_of(torch, name, value)) is not None}
    stored = {name: Stored(array.shape, array.dtype.kind in "biuf") for name, array in arrays.items()}
    return set_of_arrays(stored, arrays.__getitem__, asked)


def _array_of(torch: Any, name: str, value: Any) -> NDArray[Any] | None:
    """Return an entry of a dict as an array; None for what cannot be a column, such as settings."""
    if isinstance(value, torch.Tensor):
        return _numbers(torch, value, name)
    if isinstance(value, list | tuple) and value:
        if all(isinstance(item, torch.Tensor) for item in value):
            return _features(torch, value)
        if all(isinstance(item, str) for item in value):
            return text_array(value)
        if all(type(item) in (int, float, bool) for item in value):
            return np.array(value)
    return None


def _features(torch: Any, content: Any) -> NDArray[Any]:
    if isinstance(content, torch.Tensor):
        return _numbers(torch, content, "the tensor")
    if not isinstance(content, list | tuple) or not content or not all(isinstance(t, torch.Tensor) for t in content):
        raise InputError(f"a tensor, a list of tensors or a dict of them was expected, not {type(content).__name__}")
    shapes = {tuple(tensor.shape) for tensor in content}
    if len(shapes) == 1 and content[0].dim() == 1:
        refuse_more_than_memory(4 * len(content) * content[0].numel(), "its tensors")
        return np.stack([_numbers(torch, tensor, "a tensor") for tensor in content])
    if any(tensor.dim() != 2 for tensor in content) or len({shape[1] for shape in shapes}) > 1:
        raise InputError("the tensors of its list must be vectors of one length, or matrices of one width")
    refuse_more_than_memory(4 * sum(tensor.numel() for tensor in content), "its tensors")
    return np.concatenate([_numbers(torch, tensor, "a tensor") for tensor in content])


def _numbers(torch: Any, tensor: Any, name: str) -> NDArray[Any]:
    """Return a tensor as an array; one whose values repeat may be far larger than its file."""
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        raise InputError(f"{name} must be a plain tensor of real numbers, not {tensor.layout} {tensor.dtype}")
    refuse_more_than_memory(tensor.numel() * max(4, tensor.element_size()), name)
    tensor = tensor.detach()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()
