"""Tables of pyarrow: which types are numbers, which are vectors."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from kinfolk._core import memory
from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk.formats._arrow_table import kind_of, pyarrow, set_of_table
from kinfolk.formats._columns import choose_columns


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.float16(), "number"),
        (pa.uint8(), "number"),
        (pa.bool_(), "other"),
        (pa.string(), "other"),
        (pa.list_(pa.float32()), "vector"),
        (pa.list_(pa.float32(), 3), "vector"),
        (pa.large_list(pa.int8()), "vector"),
        (pa.list_(pa.string()), "other"),
        (pa.list_(pa.list_(pa.float32())), "other"),
    ],
    ids=str,
)
def test_kinds(kind, expected):
    assert kind_of(kind) == expected


def test_vectors_of_several_lengths_and_gaps_are_named():
    columns = choose_columns(["features"], ["vector"])
    with pytest.raises(InputError, match="row 1 has 1 values, but row 0 has 2"):
        set_of_table(pa.table({"features": [[1.0, 2.0], [1.0]]}), columns)
    with pytest.raises(InputError, match="has 1 empty values"):
        set_of_table(pa.table({"features": [[1.0, 2.0], None]}), columns)


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"kinfolk\[parquet\]"):
        pyarrow()


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "names",
    [
        pa.array([LONG] * 100).dictionary_encode(),
        pa.array([LONG] * 100, pa.string_view()),
        pa.RunEndEncodedArray.from_arrays(pa.array([100], pa.int32()), pa.array([LONG])),
    ],
    ids=["dictionary", "views", "runs"],
)
def test_texts_that_rows_share(names, monkeypatch, tmp_path):
    columns = choose_columns(["features", "name"], ["vector", "other"])
    table = pa.table({"features": [[1.0, 2.0]] * 100, "name": names})
    (tmp_path / "meminfo").write_text("MemAvailable:    4096 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    with pytest.raises(InputError, match=r"its texts would take|are not read"):
        set_of_table(table, columns)


def test_views_are_texts_like_others():
    columns = choose_columns(["features", "name"], ["vector", "other"])
    names = pa.array(["short", "a name of more than twelve"], pa.string_view())
    table = pa.table({"features": [[1.0], [2.0]], "name": names})
    assert set_of_table(table, columns).names.tolist() == ["short", "a name of more than twelve"]
