"""Tables of pandas, polars and pyarrow, told apart without importing them."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk._core.frames import (
    cells_of,
    column_of,
    index_of,
    is_frame,
    is_series,
    matrix_of,
    pandas_frame,
    titles_of,
    values_of,
)

KINDS = [pd.DataFrame, pl.DataFrame, pa.table]
VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.mark.parametrize("table", KINDS)
def test_columns_of_every_kind_of_table(table):
    frame = table({"a": [1, 2], "b": ["x", None]})
    assert is_frame(frame) and not is_series(frame)
    assert titles_of(frame) == ["a", "b"]
    column = column_of(frame, 1)
    assert is_series(column) and not is_frame(column)
    assert cells_of(column)[0] == "x"
    np.testing.assert_array_equal(values_of(column_of(frame, 0)), [1, 2])


@pytest.mark.parametrize("other", [np.eye(2), [[1.0]], None, "a.csv", pl.LazyFrame({"a": [1]})])
def test_what_is_no_table(other):
    assert not is_frame(other)
    assert not is_series(other)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(list(VECTORS)),
        pd.Series(VECTORS.tolist()),
        pl.Series(VECTORS.tolist()),
        pl.Series(VECTORS),
        pa.chunked_array([pa.array(VECTORS.tolist())]),
        pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 2),
    ],
    ids=str,
)
def test_vectors_of_every_kind_of_column(column):
    np.testing.assert_array_equal(values_of(column), VECTORS)


@pytest.mark.parametrize("cells", [[[1.0, 2.0], [1.0]], [[1.0, 2.0], None]])
@pytest.mark.parametrize("table", KINDS)
def test_vectors_of_other_lengths_are_named(table, cells):
    with pytest.raises(InputError, match=r"column 'emb': row 1 has .*, others have 2"):
        values_of(column_of(table({"emb": cells}), 0), "emb")


@pytest.mark.parametrize("table", KINDS)
def test_numbers_as_a_matrix(table):
    np.testing.assert_array_equal(matrix_of(table({"a": [1, 2], "b": [0.5, 1.5]})), [[1, 0.5], [2, 1.5]])
    np.testing.assert_array_equal(matrix_of(table({"a": [1, 2]})), [[1], [2]])
    np.testing.assert_array_equal(matrix_of(table({"emb": VECTORS.tolist()})), VECTORS)
    assert np.isnan(matrix_of(table({"a": [1.0, None], "b": [1.0, 1.0]}))[1, 0])


def test_numbers_that_pandas_may_leave_empty():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([1, 2], dtype="Int64")})
    np.testing.assert_array_equal(matrix_of(frame), [[1, 1], [np.nan, 2]])


@pytest.mark.parametrize("table", KINDS)
@pytest.mark.parametrize(
    ("other", "message"),
    [(["x", "y"], "holds no numbers"), ([True, False], "holds no numbers"), ([[1], [2]], "a column of vectors beside")],
)
def test_the_column_that_is_no_feature_is_named(table, other, message):
    with pytest.raises(InputError, match=f"column 'b' holds .*{message.removeprefix('holds ')}"):
        matrix_of(table({"a": [1, 2], "b": other}))


def test_the_index_unless_it_counts_the_rows():
    frame = pd.DataFrame({"a": [1, 2]})
    assert index_of(frame) is None
    assert index_of(frame[::-1]) == ["1", "0"]
    assert index_of(frame.set_index(pd.Index(["x", "y"]))) == ["x", "y"]
    assert index_of(pl.DataFrame({"a": [1]})) is None
    assert index_of(pa.table({"index": [1]})) is None


def test_without_pandas(monkeypatch):
    assert pandas_frame({"a": [1]}, ["x"]).loc["x", "a"] == 1
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"kinfolk\[pandas\]"):
        pandas_frame({"a": [1]}, None)


def test_none_of_them_is_imported():
    code = "import kinfolk, numpy as np, sys; kinfolk.FeatureSet(np.eye(2)); kinfolk.load"
    code += "; sys.exit(any(name in sys.modules for name in ('pandas', 'polars')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
