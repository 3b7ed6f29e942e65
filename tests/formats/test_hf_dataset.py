"""Folders of Hugging Face's datasets, written here as save_to_disk does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load

X = np.random.default_rng(0).standard_normal((24, 3)).astype(np.float32)


def save_to_disk(folder: Path, X: np.ndarray, shards: int, state: bool = True) -> Path:
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{shards:05}.arrow" for number in range(shards)]
    labels = np.arange(len(X)) % 2
    for name, rows in zip(names, np.array_split(np.arange(len(X)), shards), strict=True):
        table = pa.table({"embeddings": X[rows].tolist(), "label": labels[rows], "text": ["t"] * len(rows)})
        with pa.ipc.new_stream(folder / name, table.schema) as writer:
            writer.write_table(table)
    (folder / "dataset_info.json").write_text("{}")
    if state:
        files = [{"filename": name} for name in names]
        (folder / "state.json").write_text(json.dumps({"_data_files": files, "_split": None}))
    return folder


@pytest.mark.parametrize("shards", [1, 12])
@pytest.mark.parametrize("state", [True, False])
def test_shards_in_their_order(shards: int, state: bool, tmp_path: Path) -> None:
    fs = load(save_to_disk(tmp_path / "set", X, shards, state))
    np.testing.assert_array_equal(fs.features, X)
    assert fs.labels is not None
    assert fs.labels.tolist() == [0, 1] * 12


def test_splits_become_parts(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "set" / "train", X[:20], 2)
    save_to_disk(tmp_path / "set" / "test", X[20:], 1)
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    fs = load(tmp_path / "set")
    assert fs.part_names == ("train", "test")
    np.testing.assert_array_equal(fs.part("test").features, X[20:])
    assert len(load(tmp_path / "set", part="train")) == 20


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("state.json", '{"_data_files": [{"filename": "../secret.arrow"}]}', "which is no file of the folder"),
        ("state.json", '{"_data_files": [3]}', "which is no file of the folder"),
        ("state.json", "[" * 99_999, "nested too deep"),
        ("dataset_dict.json", '{"splits": ["../train"]}', "splits must be names of folders"),
        ("dataset_dict.json", '{"splits": ["a", "a"]}', "splits must be names of folders"),
        ("dataset_dict.json", "{}", "splits must be a list of texts"),
        ("dataset_dict.json", '{"splits": ["gone"]}', r"no \.arrow files are there"),
    ],
)
def test_damaged_facts(file: str, content: str, message: str, tmp_path: Path) -> None:
    save_to_disk(tmp_path / "set", X, 1)
    (tmp_path / "set" / file).write_text(content)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "set")
