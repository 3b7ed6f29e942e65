from __future__ import annotations

import io
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat
from scipy.sparse import csc_array

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import load, save
from kinfolk.formats.mat import read_variables

arrays = hnp.arrays(
    hnp.integer_dtypes(endianness="<")
    | hnp.unsigned_integer_dtypes(endianness="<")
    | hnp.floating_dtypes(sizes=(32, 64)),
    hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=5),
)


@pytest.fixture
def content() -> dict[str, object]:
    rng = np.random.default_rng(0)
    return {
        "query_f": rng.standard_normal((2, 3)).astype(np.float32),
        "query_label": np.array([7, 8]),
        "query_cam": np.array([1, 2]),
        "gallery_f": rng.standard_normal((4, 3)).astype(np.float32),
        "gallery_label": np.array([7, 7, 8, -1]),
        "gallery_cam": np.array([3, 1, 2, 2]),
    }


@pytest.mark.parametrize("oned_as", ["row", "column"])
@pytest.mark.parametrize("compressed", [False, True])
def test_queries_come_first(oned_as: str, compressed: bool, content: dict[str, object], tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", content, oned_as=oned_as, do_compression=compressed)
    fs = load(tmp_path / "a.mat")
    assert fs.labels is not None and fs.cameras is not None and fs.query is not None
    assert fs.labels.tolist() == [7, 8, 7, 7, 8, -1]
    assert fs.cameras.tolist() == [1, 2, 3, 1, 2, 2]
    assert fs.query.tolist() == [True, True, False, False, False, False]
    np.testing.assert_array_equal(fs.features[:2], content["query_f"])


def test_round_trip_puts_the_queries_first(small: FeatureSet, tmp_path: Path, same: Callable[..., None]) -> None:
    test = small.part("test")
    save(test, tmp_path / "a.mat")
    assert test.query is not None
    order = np.argsort(~test.query, kind="stable")
    same(load(tmp_path / "a.mat"), test.take(order), ("labels", "cameras", "query"))


@pytest.mark.slow
def test_real_market(shared_data: Path, tmp_path: Path, same: Callable[..., None]) -> None:
    test = load(shared_data / "market1501.npz", part="test")
    save(test, tmp_path / "a.mat")
    assert test.query is not None
    order = np.argsort(~test.query, kind="stable")
    same(load(tmp_path / "a.mat"), test.take(order), ("labels", "cameras", "query"))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("gallery_label", np.arange(3), "gallery_label has 3 values, but gallery_f has 4 rows"),
        ("gallery_f", np.ones((4, 2)), "query_f has 3 columns, but gallery_f has 2"),
        ("query_f", np.ones((2, 3)) * 1j, "query_f must be an array of real numbers, but is complex"),
        ("query_f", np.array([[{}]], dtype=object), "query_f must be an array of real numbers, but is a cell array"),
        ("query_f", {"a": 1}, "query_f must be an array of real numbers, but is a struct"),
        ("query_f", "text", "query_f must be an array of real numbers, but is text"),
        ("query_f", csc_array(np.eye(3)), "query_f must be an array of real numbers, but is sparse"),
        ("query_label", np.array([0.5, 1]), "labels must be int64"),
        ("query_cam", np.ones((2, 2)), r"query_cam must be one value a row, not of the shape \(2, 2\)"),
        ("gallery_f", np.full((4, 3), np.nan), "row 2 has NaN"),
    ],
)
def test_wrong_fields(field: str, value: object, message: str, content: dict[str, object], tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", content | {field: value})
    with pytest.raises(InputError, match=f"a.mat: .*{message}"):
        load(tmp_path / "a.mat")


def test_missing_fields(content: dict[str, object], tmp_path: Path) -> None:
    del content["gallery_cam"]
    savemat(tmp_path / "a.mat", content)
    with pytest.raises(InputError, match=r"a.mat: no gallery_cam; a re-ID result file needs query_f"):
        load(tmp_path / "a.mat")


def test_hdf5(tmp_path: Path) -> None:
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(header.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(InputError, match=r"a.mat: this is a MATLAB 7.3 \(HDF5\) file; save it again"):
        load(tmp_path / "a.mat")


def test_matlab_4(content: dict[str, object], tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", content, format="4")
    with pytest.raises(InputError, match="not a MATLAB 5 file"):
        load(tmp_path / "a.mat")


def test_what_a_result_file_needs(small: FeatureSet, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"holds one part: choose it first, with --part \(in Python: fs.part\('test'\)\)"
    ):
        save(small, tmp_path / "a.mat")
    with pytest.raises(InputError, match="this set has no cameras"):
        save(FeatureSet(np.eye(2), labels=[0, 1]), tmp_path / "a.mat")
    with pytest.raises(InputError, match="at least one query and one gallery row"):
        save(FeatureSet(np.eye(2), labels=[0, 1], cameras=[0, 1], query=[False, False]), tmp_path / "a.mat")
    assert list(tmp_path.iterdir()) == []


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


LOADMAT = """
import io, resource, sys
from scipy.io import loadmat
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
loadmat(io.BytesIO(sys.stdin.buffer.read()))
"""


def test_why_scipy_does_not_read_here() -> None:
    """One flipped bit, an unknown kind of number, kills the interpreter in loadmat; here it gets a sentence.

    When this fails because scipy has been mended, the reader of kinfolk.formats.mat can be replaced by loadmat.
    """
    stream = io.BytesIO()
    savemat(stream, {"x": np.ones((2, 3), dtype=np.float32)})
    data = bytearray(stream.getvalue())
    values = data.index(struct.pack("<II", 7, 24))  # kind: float32, size: 24 bytes
    data[values] ^= 0x80
    died = subprocess.run([sys.executable, "-c", LOADMAT], input=bytes(data), capture_output=True, check=False)
    assert died.returncode in (-signal.SIGSEGV, -signal.SIGBUS)
    with pytest.raises(InputError, match="x: numbers of kind 135 are not known; the file may be damaged"):
        read_variables(bytes(data), ["x"])
