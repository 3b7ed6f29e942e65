from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk.features import FeatureSet
from kinfolk.formats import load, save

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def read(tmp_path: Path, columns: dict[str, Any]) -> FeatureSet:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=2)
    return load(tmp_path / "a.parquet")


@pytest.mark.parametrize("title", ["features", "Embedding"])
@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32(), 2), pa.list_(pa.float64()), pa.large_list(pa.float16()), pa.list_(pa.int8())]
)
def test_list_columns(title: str, kind: Any, tmp_path: Path) -> None:
    rows = [[np.float16(1), np.float16(2)]] * 3 if kind == pa.large_list(pa.float16()) else [[1, 2]] * 3
    fs = read(tmp_path, {"text": ["not touched"] * 3, title: pa.array(rows, kind), "label": ["b", None, "a"]})
    np.testing.assert_array_equal(fs.features, [[1, 2]] * 3)
    assert fs.labels is not None
    assert fs.labels.tolist() == [1, -1, 0]
    assert fs.label_names == ("a", "b")


def test_numbered_columns_in_numeric_order(tmp_path: Path) -> None:
    columns = {f"f{number}": [float(number), 1.0, 2.0] for number in reversed(range(12))}
    fs = read(tmp_path, {**columns, "pid": [1.0, None, float("nan")], "camera": [1, 2, 3], "path": ["a", None, "c"]})
    np.testing.assert_array_equal(fs.features[0], np.arange(12))
    assert fs.labels is not None and fs.names is not None
    assert fs.labels.tolist() == [1, -1, -1]
    assert fs.names.tolist() == ["a", "", "c"]


def test_titles_mean_what_they_mean_in_a_csv(tmp_path: Path) -> None:
    fs = read(tmp_path, {"id": [7, 9], "person": ["a", "b"], "x": [1.0, 2.0], "is_query": [0, 1], "split": ["a", "a"]})
    assert fs.names is not None and fs.labels is not None and fs.query is not None
    assert fs.names.tolist() == ["7", "9"]
    assert fs.query.tolist() == [False, True]
    assert fs.taken_from == "1 feature (x), names from id, labels from person, parts from split, queries from is_query"


def test_columns_that_are_not_read_are_said(tmp_path: Path) -> None:
    fs = read(tmp_path, {"caption": ["a"], "age": [3], "embedding": [[1.0, 2.0]]})
    assert fs.taken_from == "2 features (embedding); left out: caption, age"
    fs = load(tmp_path / "a.parquet", name_column="caption", feature_columns="age")
    assert fs.taken_from == "1 feature (age), names from caption; left out: embedding"


def test_written_as_a_fixed_size_list(small: FeatureSet, tmp_path: Path) -> None:
    save(small, tmp_path / "a.parquet")
    schema = pq.read_schema(tmp_path / "a.parquet")
    assert schema.field("features").type == pa.list_(pa.float32(), 4)
    assert pq.read_table(tmp_path / "a.parquet").column("part").to_pylist() == ["train"] * 2 + ["test"] * 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [1.0]}, "no columns are left for the features; the columns are: id"),
        ({"f0": [1.0], "f2": [1.0]}, "a column is missing between 'f0' and 'f2'"),
        ({"f0": ["x"]}, "column 'f0' holds no numbers and its title is not known; known are id, name, .*, label, "),
        ({"f0": [1.0, None]}, "column 'f0' has 1 empty values"),
        ({"features": [[1.0], [1.0, 2.0]]}, "column 'features': row 1 has 2 values, but row 0 has 1"),
        ({"features": [[1.0], None]}, "column 'features' has 1 empty values"),
        ({"features": [[1.0], [None]]}, "column 'features' has 1 empty values"),
        ({"features": [["a"]]}, "column 'features' holds no numbers"),
        ({"f0": [1.0, 0.0]}, "features: row 1 is a zero vector"),
        ({"f0": [1.0, 1.0], "camera": [1, None]}, "the cameras of row 1 are empty"),
        ({"f0": [1.0], "camera": ["x"]}, "cameras must be int64"),
        ({"f0": pa.array([], pa.float32())}, "the table has no rows"),
        ({"f0": [1.0], "label": [1], "pid": [1]}, "columns 'label' and 'pid' may both be the labels; choose one"),
    ],
)
def test_wrong_columns(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"a.parquet: {message}"):
        read(tmp_path, columns)


def test_without_pyarrow(small: FeatureSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(small, tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for act in (lambda: load(tmp_path / "a.parquet"), lambda: save(small, tmp_path / "b.parquet")):
        with pytest.raises(MissingExtraError, match=r'pyarrow: pip install "kinfolk\[parquet\]"'):
            act()


def test_damage_that_ends_the_process_in_pyarrows_metadata_is_an_error(tmp_path: Path) -> None:
    """Where pyarrow's metadata of a column throw, nothing catches: bits of the first bytes of the footer do that."""
    file = tmp_path / "set.parquet"
    FeatureSet(np.eye(4), labels=[0, 1, 1, 0], names=list("abcd")).save(file)
    whole = file.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for place in range(footer, footer + 80):
        for bit in range(8):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
            with suppress(InputError):
                assert load(file).dim >= 1
