from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from kinfolk._core.errors import InputError
from kinfolk.formats import load


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_every_float_type(dtype: torch.dtype, tmp_path: Path) -> None:
    save_torch({"features": torch.eye(3, dtype=dtype), "labels": torch.arange(3)}, tmp_path / "a.safetensors")
    fs = load(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(fs.features, np.eye(3))
    assert fs.features.dtype == np.float32


@pytest.mark.parametrize(
    ("tensors", "metadata", "message"),
    [
        ({"x": np.ones(2)}, {}, "no matrix of numbers that could be the features; the arrays are: x"),
        ({"features": np.ones(2)}, {}, r"features must have the shape \(n, d\)"),
        ({"features": np.eye(2), "labels": np.arange(3)}, {}, "labels must be one value a row"),
        ({"features": np.eye(2), "part": np.arange(2)}, {"part_names": '["a"]'}, "part_index: row 1 is 1"),
        ({"features": np.eye(2)}, {"names": '["a"]'}, "names must be one value a row"),
        ({"features": np.eye(2)}, {"names": "[1, 2]"}, "names must be a list of texts"),
    ],
)
def test_wrong_tensors(tensors: dict[str, np.ndarray], metadata: dict[str, str], message: str, tmp_path: Path) -> None:
    save_file(tensors, tmp_path / "a.safetensors", metadata=metadata)
    with pytest.raises(InputError, match=f"a.safetensors: {message}"):
        load(tmp_path / "a.safetensors")


@pytest.mark.parametrize("length", [2**20, 2**40, 2**63])
def test_a_header_that_claims_too_much(length: int, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", length) + b'{"features":{}}')
    with pytest.raises(InputError, match=r"a.safetensors cannot be read as a safetensors file"):
        load(tmp_path / "a.safetensors")


def test_metadata_that_is_not_json(tmp_path: Path) -> None:
    save_file({"features": np.eye(2)}, tmp_path / "a.safetensors", metadata={"names": "{"})
    with pytest.raises(InputError, match=r"a.safetensors: not JSON that can be read"):
        load(tmp_path / "a.safetensors")


def test_other_names_as_embedders_give_them(tmp_path: Path) -> None:
    save_file({"image_features": np.eye(3, dtype=np.float16), "pid": np.arange(3)}, tmp_path / "a.safetensors")
    fs = load(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(fs.features, np.eye(3))
    assert fs.labels is not None
    assert fs.labels.tolist() == [0, 1, 2]
