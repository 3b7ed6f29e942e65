from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import load, save
from kinfolk.formats._names import attach_names, read_names


@pytest.mark.parametrize("suffix", ["npy", "bin", "npz"])
def test_sets_without_names_get_those_of_a_file(suffix: str, tmp_path: Path) -> None:
    save(FeatureSet(np.eye(3), labels=[0, 1, 2]), tmp_path / f"a.{suffix}")
    (tmp_path / "names.txt").write_text("a.jpg\nb c.jpg\na.jpg\n")
    fs = load(tmp_path / f"a.{suffix}", dim=3, names=tmp_path / "names.txt")
    assert fs.names is not None
    assert fs.names.tolist() == ["a.jpg", "b c.jpg", "a.jpg"]


def test_names_are_of_the_whole_file_before_its_part(tmp_path: Path) -> None:
    save(FeatureSet(np.eye(3), part_index=[0, 1, 1], part_names=("train", "test")), tmp_path / "a.npz")
    fs = load(tmp_path / "a.npz", part="test", names=["a", "b", "c"])
    assert fs.names is not None
    assert fs.names.tolist() == ["b", "c"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.csv", 'size,path\n1,x\n2,"y,z"\n'),
        ("a.tsv", "size\tpath\n1\tx\n2\ty,z\n"),
        ("a.csv", '\ufeffanything\nx\n"y,z"\n'),
        ("a.txt", "x\r\ny,z\r\n"),
    ],
)
def test_files_of_names(file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(text.encode())
    assert read_names(tmp_path / file).tolist() == ["x", "y,z"]


def test_arrays_of_names(tmp_path: Path) -> None:
    for values in (np.array([7, 9]), np.array(["7", "9"])):
        np.save(tmp_path / "a.npy", values)
        assert read_names(tmp_path / "a.npy").tolist() == ["7", "9"]
        assert attach_names(FeatureSet(np.eye(2)), values).names.tolist() == ["7", "9"]  # type: ignore[union-attr]


def test_the_column_of_names_can_be_chosen(tmp_path: Path) -> None:
    save(FeatureSet(np.eye(2)), tmp_path / "a.npy")
    (tmp_path / "names.csv").write_text("id,path\n1,x\n2,y\n")
    fs = load(tmp_path / "a.npy", names=tmp_path / "names.csv", name_column="path")
    assert fs.names is not None
    assert fs.names.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("n.txt", "a\n", "n.txt: 1 names for 2 rows"),
        ("n.txt", "a\n\nb\n", "line 2 is empty"),
        ("n.csv", "id\na\nb,c\n", "n.csv: line 3 has 2 columns, 1 were expected"),
        ("n.csv", "id,path\n1,2\n", "'id' and 'path' may both be the names"),
        ("n.csv", "", "n.csv is empty"),
        ("n.json", "[]", "names are read from .txt, .npy, .csv, .tsv files"),
    ],
)
def test_files_that_do_not_fit(file: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=message):
        attach_names(FeatureSet(np.eye(2)), tmp_path / file)


def test_names_are_texts_or_whole_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "n.npy", np.eye(2)[0])
    with pytest.raises(InputError, match="names must be texts or whole numbers, not float64"):
        attach_names(FeatureSet(np.eye(2)), tmp_path / "n.npy")


def test_columns_are_chosen_in_tables_only(tmp_path: Path) -> None:
    save(FeatureSet(np.eye(2)), tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"a.npy is no table"):
        load(tmp_path / "a.npy", name_column="id")
