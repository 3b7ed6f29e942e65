from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat

from kinfolk._core.errors import InputError
from kinfolk.formats.matlab import read_variables

arrays = hnp.arrays(
    hnp.integer_dtypes(endianness="<")
    | hnp.unsigned_integer_dtypes(endianness="<")
    | hnp.floating_dtypes(sizes=(32, 64)),
    hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=5),
)


@settings(deadline=None)
@given(array=arrays, compress=st.booleans())
def test_the_same_as_scipy_wrote(array: np.ndarray, compress: bool) -> None:
    stream = io.BytesIO()
    savemat(stream, {"other": np.eye(2), "a_variable": array, "text": "x"}, do_compression=compress)
    found = read_variables(stream.getvalue(), ["a_variable", "missing"])
    assert list(found) == ["a_variable"]
    np.testing.assert_array_equal(found["a_variable"], array)


def test_big_endian() -> None:
    def element(kind: int, data: bytes) -> bytes:
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    flags, shape = struct.pack(">II", 6, 0), struct.pack(">ii", 1, 2)
    small = struct.pack(">HH", 1, 1) + b"x\0\0\0"  # size and kind share a word, the name follows in the tag
    body = element(6, flags) + element(5, shape) + small + element(9, struct.pack(">dd", 1.5, -2))
    data = bytes(124) + b"\x01\x00MI" + element(14, body)
    np.testing.assert_array_equal(read_variables(data, ["x"])["x"], [[1.5, -2]])


@pytest.mark.parametrize("shape", [(2**30, 2**30), (-1, -2), (1, 1), (3, 1)])
def test_a_shape_that_does_not_fit(shape: tuple[int, int]) -> None:
    stream = io.BytesIO()
    savemat(stream, {"x": np.ones((1, 2))})
    good = struct.pack("<ii", 1, 2)
    assert stream.getvalue().count(good) == 1
    bad = struct.pack("<ii", *shape)
    with pytest.raises(InputError, match=r"x: the shape .* does not fit 16 bytes"):
        read_variables(stream.getvalue().replace(good, bad), ["x"])
