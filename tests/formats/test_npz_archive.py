"""Zip files of arrays: duplicate names, passwords, other methods, lies about sizes."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats._common import reading
from kinfolk.formats._npz_archive import open_npz


def read(file: Path) -> np.ndarray:
    with reading(file, "an .npz file"), open_npz(file) as archive:
        return archive.read(["features", "labels"])["features"]


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_only_what_is_wanted_and_there_is_read(save, tmp_path: Path) -> None:
    save(tmp_path / "a.npz", features=np.eye(3), other=np.array([None]))
    np.testing.assert_array_equal(read(tmp_path / "a.npz"), np.eye(3))


def test_a_name_that_is_there_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, warnings.catch_warnings(action="ignore"):
        for value in (1.0, 2.0):
            archive.writestr("features.npy", npy(np.full((2, 2), value)))
    with pytest.raises(InputError, match=r"a.npz: the field 'features' is there twice"):
        read(tmp_path / "a.npz")


def test_an_encrypted_member(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.eye(3))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[6] |= 1  # flags of the local header, then of the central directory
    content[content.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match="features is encrypted; save the arrays without a password"):
        read(tmp_path / "a.npz")


def test_a_method_that_numpy_does_not_write(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("features.npy", npy(np.eye(3)))
    with pytest.raises(InputError, match="features is compressed by method 14, which numpy does not write"):
        read(tmp_path / "a.npz")


def test_corrupt_deflate(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", features=np.random.default_rng(0).standard_normal((50, 5)))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[200:260] = bytes(60)
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.npz"):
        read(tmp_path / "a.npz")
