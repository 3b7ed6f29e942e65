from __future__ import annotations

import sys
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


def test_written_as_a_fixed_size_list(small: FeatureSet, tmp_path: Path) -> None:
    save(small, tmp_path / "a.parquet")
    schema = pq.read_schema(tmp_path / "a.parquet")
    assert schema.field("features").type == pa.list_(pa.float32(), 4)
    assert pq.read_table(tmp_path / "a.parquet").column("part").to_pylist() == ["train"] * 2 + ["test"] * 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1.0]}, "no column 'features' or 'embedding' and no f0, f1, ...; the columns are: x"),
        ({"f0": [1.0], "f2": [1.0]}, "column 'f1' is missing: the features end with 'f2'"),
        ({"f0": ["x"]}, "column 'f0' must be numbers, not string"),
        ({"f0": [1.0, None]}, "column 'f0' has 1 empty values"),
        ({"features": [1.0]}, "column 'features' must be lists of numbers, not double"),
        ({"features": [[1.0], [1.0, 2.0]]}, "column 'features': row 1 has 2 values, but row 0 has 1"),
        ({"features": [[1.0], None]}, "column 'features' has 1 empty values"),
        ({"features": [[1.0], [None]]}, "column 'features' has 1 empty values"),
        ({"features": [["a"]]}, "column 'features' must be numbers, not string"),
        ({"f0": [1.0, 0.0]}, "features: row 1 is a zero vector"),
        ({"f0": [1.0, 1.0], "camera": [1, None]}, "the cameras of row 1 are empty"),
        ({"f0": [1.0], "camera": ["x"]}, "cameras must be int64"),
        ({"f0": pa.array([], pa.float32())}, "the table has no rows"),
        ({"f0": [1.0], "label": [1], "pid": [1]}, "columns 'label' and 'pid' both give the labels"),
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
