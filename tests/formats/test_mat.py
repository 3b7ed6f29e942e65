from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import load, save


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
    with pytest.raises(InputError, match="holds one part"):
        save(small, tmp_path / "a.mat")
    with pytest.raises(InputError, match="this set has no cameras"):
        save(FeatureSet(np.eye(2), labels=[0, 1]), tmp_path / "a.mat")
    with pytest.raises(InputError, match="at least one query and one gallery row"):
        save(FeatureSet(np.eye(2), labels=[0, 1], cameras=[0, 1], query=[False, False]), tmp_path / "a.mat")
    assert list(tmp_path.iterdir()) == []
