"""HDF5: names as people give them, and files that reach outside themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from kinfolk._core import disk, memory
from kinfolk._core.errors import DiskFullError, InputError, MissingExtraError
from kinfolk.features import FeatureSet
from kinfolk.formats import load

X = np.random.default_rng(0).standard_normal((4, 3))


def written(file: Path, **datasets: object) -> Path:
    with h5py.File(file, "w") as target:
        for name, value in datasets.items():
            target.create_dataset(name, data=value)
    return file


@pytest.mark.parametrize("title", ["features", "embeddings", "Embedding", "resnet50"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_names_and_types_as_people_have_them(title: str, dtype: type, tmp_path: Path) -> None:
    vectors = (X * 10).astype(dtype)
    file = written(
        tmp_path / "a.hdf5",
        **{title: vectors, "pid": [3, 3, 5, 5], "camid": [[1], [2], [1], [2]], "split": ["a", "b", "a", "b"]},
        filenames=["x"],
        path=["w.jpg", "ü.jpg", "y.jpg", "z.jpg"],
    )
    fs = load(file)
    np.testing.assert_array_equal(fs.features, vectors.astype(np.float32))
    assert fs.labels is not None and fs.names is not None and fs.cameras is not None
    assert fs.labels.tolist() == [3, 3, 5, 5]
    assert fs.names.tolist() == ["w.jpg", "ü.jpg", "y.jpg", "z.jpg"]
    assert fs.cameras.tolist() == [1, 2, 1, 2]
    assert fs.part_names == ("a", "b")


def test_compressed_chunks_are_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as target:
        target.create_dataset("features", data=X, chunks=(2, 3), compression="gzip")
    np.testing.assert_array_equal(load(tmp_path / "a.h5").features, X.astype(np.float32))


def test_two_matrices_are_a_question(tmp_path: Path) -> None:
    file = written(tmp_path / "a.h5", image=X, text=-X)
    with pytest.raises(InputError, match="columns 'image' and 'text' both hold vectors; choose one"):
        load(file)
    np.testing.assert_array_equal(load(file, feature_columns="text").features, -X.astype(np.float32))


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ({"labels": [1, 2]}, "no matrix of numbers that could be the features; the arrays are: labels"),
        ({"features": X, "labels": [1, 2]}, "labels has 2 values, but features has 4 rows"),
        ({"features": X, "part": [0, 1, 2, 0], "part_names": ["a", "b"]}, "part must be positions in the 2 part_names"),
        ({"features": np.full((2, 2), np.nan)}, "row 0 has NaN"),
    ],
)
def test_what_is_wrong_is_said(datasets: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"a\.h5.*{message}"):
        load(written(tmp_path / "a.h5", **datasets))


def test_nothing_outside_the_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(np.ones((4, 3), dtype=np.float32).tobytes())
    written(tmp_path / "other.h5", features=X)
    with h5py.File(tmp_path / "link.h5", "w") as target:
        target["features"] = h5py.ExternalLink("other.h5", "/features")
    with h5py.File(tmp_path / "external.h5", "w") as target:
        place = [(str(tmp_path / "secret.bin"), 0, 48)]
        target.create_dataset("features", (4, 3), dtype="f4", external=place)
    with h5py.File(tmp_path / "virtual.h5", "w") as target:
        layout = h5py.VirtualLayout((4, 3), dtype="f8")
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "features", shape=(4, 3))
        target.create_virtual_dataset("features", layout)
    for name in ("link", "external", "virtual"):
        with pytest.raises(InputError, match=r"which (is not followed|are not read)"):
            load(tmp_path / f"{name}.h5")


def test_a_shape_without_values_is_refused_before_it_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as target:
        target.create_dataset("features", (10**9, 10**6), dtype="f4", chunks=(1, 10**6))
    with pytest.raises(InputError, match=r"a\.h5: features would take"):
        load(tmp_path / "a.h5")
    (tmp_path / "meminfo").write_text("MemAvailable:    1 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(InputError, match="would take"):
        load(written(tmp_path / "b.h5", features=np.ones((50, 50))))


def test_without_h5py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "a.h5", features=X)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"optional package h5py: pip install \"kinfolk\[hdf5\]\""):
        load(tmp_path / "a.h5")


def test_features_in_a_group_are_named_as_such(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as target:
        target["faces/embeddings"] = X
    with pytest.raises(InputError, match=r"must be at the top of the file, not in groups; .* faces$"):
        load(tmp_path / "a.h5")


def test_a_disk_too_small_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without space HDF5 would end the process with a segmentation fault."""
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 4096}))
    with pytest.raises(DiskFullError, match="the disk is full"):
        FeatureSet(np.eye(4), labels=[0, 0, 1, 1]).save(tmp_path / "x.h5")
    assert list(tmp_path.iterdir()) == []
