"""Lines and cells of text tables."""

from __future__ import annotations

import io

import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats._delimited import as_cell, quoted, table_lines


def lines(text: str, delimiter: str = ",") -> list[tuple[int, list[str]]]:
    return list(table_lines(io.StringIO(text, newline=""), delimiter))


@pytest.mark.parametrize("name", ["", "a", "a,b", 'a"b', '"', "a\rb", "a\nb", "a\r\nb", " a ", "田中", "=1"])
def test_every_name_comes_back(name):
    assert lines(f"{as_cell(name)},{quoted(name)},x\n")[0][1] == [name, name, "x"]


def test_a_line_is_counted_where_it_ends():
    assert lines('id\tn\n"a\nb"\t1\nc\t2\n', "\t") == [(1, ["id", "n"]), (3, ["a\nb", "1"]), (4, ["c", "2"])]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1\n", "line 2 has 1 columns, 2 were expected"),
        ("a,b\n\n1,2,3\n", "line 3 has 3 columns, 2 were expected"),
        ("a,b\n1," + "x" * 200_000, "line 2: field larger than field limit"),
    ],
)
def test_what_is_no_table(text, says):
    with pytest.raises(InputError, match=says):
        lines(text)
