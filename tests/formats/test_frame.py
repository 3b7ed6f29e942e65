from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet

KINDS = [pd.DataFrame, pl.DataFrame, pa.table]
CELLS = {"id": [7, 9], "person": ["a", None], "f1": [1.0, 2.0], "f0": [3, 4], "split": ["train", "test"]}


@pytest.mark.parametrize("table", KINDS)
def test_columns_are_told_by_their_titles(table: Any) -> None:
    fs = FeatureSet.from_table(table(CELLS))
    np.testing.assert_array_equal(fs.features, [[3, 1], [4, 2]])
    assert fs.names is not None and fs.labels is not None
    assert fs.names.tolist() == ["7", "9"]
    assert (fs.labels.tolist(), fs.label_names) == ([0, -1], ("a",))
    assert fs.part_names == ("train", "test")
    assert fs.taken_from == "2 features (f0, f1), names from id, labels from person, parts from split"


@pytest.mark.parametrize("table", KINDS)
def test_a_column_of_vectors_and_columns_asked_for(table: Any) -> None:
    frame = table({"embedding": [[1.0, 2.0], [3.0, 4.0]], "caption": ["x", "y"], "age": [3, 4]})
    fs = FeatureSet.from_table(frame, name_column="caption")
    np.testing.assert_array_equal(fs.features, [[1, 2], [3, 4]])
    assert fs.taken_from == "2 features (embedding), names from caption; left out: age"
    fs = FeatureSet.from_table(frame, feature_columns=["age"], label_column="caption")
    assert fs.taken_from == "1 feature (age), labels from caption; left out: embedding"


def test_the_index_of_pandas_is_the_names() -> None:
    frame = pd.DataFrame({"embedding": [[1.0], [2.0]], "age": [1, 2]}, index=["x", "y"])
    fs = FeatureSet.from_table(frame)
    assert fs.names is not None
    assert fs.names.tolist() == ["x", "y"]
    assert fs.taken_from == "1 feature (embedding), names from the index; left out: age"
    assert FeatureSet.from_table(frame.reset_index(drop=True)).names is None


@pytest.mark.parametrize("table", KINDS)
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"id": [1], "path": ["a"], "f0": [1.0]}, "'id' and 'path' may both be the names"),
        ({"f0": [1.0, 0.0], "f1": [0.5, 0.0]}, "row 1 is a zero vector"),
        ({"f0": [1.0, None], "f1": [1.0, 1.0]}, "row 1 has NaN"),
        ({"text": ["a"], "f0": [1.0]}, "'text' holds no numbers"),
    ],
)
def test_doubt_is_refused(table: Any, cells: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FeatureSet.from_table(table(cells))


def test_other_things_are_refused() -> None:
    with pytest.raises(InputError, match="a table of pandas, polars or pyarrow was expected, not list"):
        FeatureSet.from_table([[1.0]])
    with pytest.raises(InputError, match="from_table"):
        kf.load(pd.DataFrame({"f0": [1.0]}))  # type: ignore[arg-type]


def test_a_set_goes_to_pandas_and_back() -> None:
    fs = FeatureSet(
        np.eye(3) + 0.1,
        labels=[1, -1, 0],
        label_names=("a", "b"),
        cameras=[3, 4, 5],
        query=[True, False, True],
        names=["x", "y", "x"],
        part_index=[0, 1, 1],
        part_names=("train", "test"),
        enhanced=True,
    )
    frame = fs.to_pandas()
    assert frame.index.tolist() == ["x", "y", "x"]
    assert list(frame.columns) == ["label", "camera", "query", "part", "enhanced", "f0", "f1", "f2"]
    back = FeatureSet.from_table(frame)
    for field in ("features", "labels", "cameras", "query", "names", "part_index"):
        np.testing.assert_array_equal(getattr(back, field), getattr(fs, field))
    assert (back.label_names, back.part_names, back.enhanced) == (("a", "b"), ("train", "test"), True)
    assert FeatureSet(np.eye(2)).to_pandas().index.tolist() == [0, 1]
