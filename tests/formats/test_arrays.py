from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from kinfolk._core.errors import InputError
from kinfolk.formats import _arrays
from kinfolk.formats._arrays import map_file, read_array, read_file, read_header

arrays = hnp.arrays(
    hnp.integer_dtypes() | hnp.floating_dtypes() | hnp.boolean_dtypes(), hnp.array_shapes(min_dims=0, min_side=0)
)


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@settings(deadline=None)
@given(array=arrays)
def test_the_same_as_numpy_reads(array: np.ndarray) -> None:
    data = saved(array)
    found = read_array(io.BytesIO(data), len(data), "x")
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)


@pytest.mark.parametrize("array", [np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4).T, np.ones((0, 3))])
def test_mapped_and_read_arrays_agree(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(map_file(tmp_path / "a.npy", "x"), array)
    np.testing.assert_array_equal(read_file(tmp_path / "a.npy", "x"), array)


def test_a_large_array_is_read_block_after_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_arrays, "BLOCK_BYTES", 7)
    array = np.arange(50)
    data = saved(array)
    np.testing.assert_array_equal(read_array(io.BytesIO(data), len(data), "x"), array)


def test_the_header() -> None:
    data = saved(np.asfortranarray(np.ones((2, 3), dtype=np.float32)))
    header = read_header(io.BytesIO(data), len(data), "x")
    assert (header.shape, header.order, header.dtype, header.nbytes) == ((2, 3), "F", np.float32, 24)


def test_a_stream_that_ends_before_its_size() -> None:
    data = saved(np.arange(4))
    with pytest.raises(InputError, match="x is truncated: 32 bytes were expected, 24 are there"):
        read_array(io.BytesIO(data[:-8]), len(data), "x")


def test_an_unknown_version() -> None:
    data = bytearray(saved(np.arange(4)))
    data[6] = 3
    with pytest.raises(InputError, match=r"version 3\.0 of the npy format is not known"):
        read_array(io.BytesIO(data), len(data), "x")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([None]), "x is an object array"),
        (np.array([1j]), "x must be numbers, truth values or texts, not complex128"),
        (np.array(["2026-01-01"], dtype="M8[D]"), "x must be numbers, truth values or texts"),
    ],
)
def test_types_that_are_not_read(array: np.ndarray, message: str) -> None:
    data = saved(array)
    with pytest.raises(InputError, match=message):
        read_array(io.BytesIO(data), len(data), "x")
