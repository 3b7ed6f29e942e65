from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import FolderWriter, load, save


def test_everything_is_mapped(small: FeatureSet, tmp_path: Path) -> None:
    save(small, tmp_path / "a.kf")
    fs = load(tmp_path / "a.kf")
    assert isinstance(fs.features, np.memmap)
    for column in (fs.labels, fs.cameras, fs.names, fs.query, fs.part_index):
        assert type(column) is np.ndarray
        assert not column.flags.owndata
    assert isinstance(fs.part("test").features, np.memmap)
    settings = json.loads((tmp_path / "a.kf" / "set.json").read_text())
    lists = {"part_names": ["train", "test"], "label_names": []}
    assert settings == {"format": "kinfolk", "version": 1, **lists, "enhanced": False}


def test_any_folder_with_features_will_do(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.eye(3, dtype=np.float16))
    np.save(tmp_path / "labels.npy", np.array(["x", "y", "x"]))
    fs = load(tmp_path)
    assert fs.label_names == ("x", "y")
    assert fs.features.dtype == np.float32
    assert not isinstance(fs.features, np.memmap)


def test_writing_block_after_block(small: FeatureSet, tmp_path: Path, same: Callable[..., None]) -> None:
    columns = ("labels", "cameras", "query", "part")
    with FolderWriter(tmp_path / "a.kf", 6, 4, columns, name_length=10, part_names=("train", "test")) as writer:
        for rows, part in ((slice(0, 2), "train"), (slice(2, 3), "test"), (slice(3, 6), np.array([1, 1, 1]))):
            block = small.take(rows)
            writer.append(
                block.features,
                labels=block.labels,
                cameras=block.cameras,
                query=block.query,
                part=part,
                names=block.names,
            )
        assert not (tmp_path / "a.kf").exists()
    same(load(tmp_path / "a.kf"), small)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"features": np.ones((2, 3)), "labels": [1, 2]}, "vectors of 2 values were expected, not of 3"),
        ({"features": np.ones((4, 2)), "labels": [1] * 4}, "3 rows were promised, 4 came"),
        ({"features": np.ones((2, 2)), "labels": [1, 2]}, "3 rows were promised, 2 came"),
        ({"features": np.ones((3, 2))}, "labels were expected with every block, not no columns"),
        (
            {"features": np.ones((3, 2)), "labels": [1] * 3, "cameras": [1] * 3},
            "labels were expected .* not labels, cam",
        ),
        ({"features": np.ones((3, 2)), "labels": [1, 2]}, "labels must be one value a row: 3 were expected"),
        ({"features": np.ones((3, 2)), "labels": ["a", "b", "c"]}, "labels must be int64"),
        ({"features": np.eye(3)[:, :2], "labels": [1] * 3}, "row 2 is a zero vector"),
        ({"features": np.ones((3, 2)), "labels": [1] * 3, "part": "val"}, "unknown part 'val'; the parts are none"),
    ],
)
def test_a_block_that_is_refused_leaves_nothing(block: dict[str, Any], message: str, tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=message),
        FolderWriter(tmp_path / "a.kf", rows=3, dim=2, columns=("labels",)) as writer,
    ):
        writer.append(**block)
    assert list(tmp_path.iterdir()) == []


def test_rows_are_numbered_through_all_blocks(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="row 3 has NaN"),
        FolderWriter(tmp_path / "a.kf", rows=4, dim=2) as writer,
    ):
        writer.append(np.ones((2, 2)))
        writer.append(np.array([[1, 1], [1, np.nan]]))


def test_a_name_longer_than_promised(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="longer than the 3 characters promised"),
        FolderWriter(tmp_path / "a.kf", rows=1, dim=2, name_length=3) as writer,
    ):
        writer.append(np.ones((1, 2)), names=np.array(["four"]))


def test_a_failure_of_the_caller_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), FolderWriter(tmp_path / "a.kf", rows=3, dim=2) as writer:
        writer.append(np.ones((3, 2)))
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown column 'colour'; the columns are labels, cameras, query, part"):
        FolderWriter(tmp_path / "a.kf", 1, 1, columns=("colour",))
    with pytest.raises(InputError, match="rows must be a whole number from 1 on, not 0"):
        FolderWriter(tmp_path / "a.kf", 0, 1)
    with pytest.raises(InputError, match=r"dim must be a whole number from 1 on, not 2\.0"):
        FolderWriter(tmp_path / "a.kf", 1, 2.0)  # type: ignore[arg-type]


def test_a_folder_of_something_else_is_never_replaced(small: FeatureSet, tmp_path: Path) -> None:
    (tmp_path / "a.kf").mkdir()
    (tmp_path / "a.kf" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"did not write \(thesis.txt\)"):
        save(small, tmp_path / "a.kf", force=True)
    assert (tmp_path / "a.kf" / "thesis.txt").read_text() == "mine"
    save(small, tmp_path / "b.kf")
    save(small.part("test"), tmp_path / "b.kf", force=True)
    assert len(load(tmp_path / "b.kf")) == 4


def test_a_set_can_replace_the_folder_it_is_read_from(small: FeatureSet, tmp_path: Path) -> None:
    save(small, tmp_path / "a.kf")
    save(load(tmp_path / "a.kf", part="test"), tmp_path / "a.kf", force=True)
    assert len(load(tmp_path / "a.kf")) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "set.json: an object with part_names"),
        ("{", "set.json: not JSON that can be read"),
        ('{"version": 2}', "set.json: version 2 of the folder format is not known here, only 1"),
        ('{"part_names": [1]}', "set.json: part_names must be a list of texts"),
        ('{"enhanced": "maybe"}', "set.json: enhanced must be true or false"),
        ('{"part_names": ["only"]}', "a.kf: part_index: row 2 is 1, but there are only 1 names"),
        ("", r"set.json is empty \(0 bytes\)"),
    ],
)
def test_wrong_settings(content: str, message: str, small: FeatureSet, tmp_path: Path) -> None:
    save(small, tmp_path / "a.kf")
    (tmp_path / "a.kf" / "set.json").write_text(content)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "a.kf")


def test_a_damaged_column_is_named(small: FeatureSet, tmp_path: Path) -> None:
    save(small, tmp_path / "a.kf")
    file = tmp_path / "a.kf" / "labels.npy"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"labels.npy: labels is truncated"):
        load(tmp_path / "a.kf")
    np.save(file, np.arange(5))
    with pytest.raises(InputError, match=r"a.kf: labels must be one value a row: 6 were expected"):
        load(tmp_path / "a.kf")
