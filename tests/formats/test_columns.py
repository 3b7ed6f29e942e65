from __future__ import annotations

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats._columns import TITLES, Asked, Columns, Kind, choose_columns, name_column, refuse_row_numbers


def choose(header: str, kinds: str = "", **asked: str) -> Columns:
    """Choose among the titles of a text; kinds: n, v or o for each, else all are numbers."""
    titles = header.split(",")
    words: dict[str, Kind] = {"n": "number", "v": "vector", "o": "other"}
    return choose_columns(titles, [words[letter] for letter in kinds or "n" * len(titles)], Asked(**asked))


def taken(columns: Columns) -> list[str]:
    return [columns.titles[place] for place in columns.features]


@pytest.mark.parametrize(("column", "title"), [(column, title) for column, all_ in TITLES.items() for title in all_])
def test_every_title_in_any_case(column: str, title: str) -> None:
    for written in (title, title.upper(), f" {title.title()} ", title.replace("_", " "), title.replace("_", "-")):
        assert choose(f"f0,{written}").known == {column: 1}


def test_no_title_means_two_things() -> None:
    titles = [title for all_ in TITLES.values() for title in all_]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize(
    ("header", "kinds", "features"),
    [
        ("width,height", "", ["width", "height"]),
        ("f10,f9,f8", "", ["f8", "f9", "f10"]),
        ("b0,b1,a1,a0", "", ["b0", "b1", "a1", "a0"]),
        ("x,y,z", "", ["x", "y", "z"]),
        ("0,1,2", "", ["0", "1", "2"]),
        ("age,caption,embedding", "nov", ["embedding"]),
        ("left,right,embedding", "vvv", ["embedding"]),
        ("age,clip", "nv", ["clip"]),
    ],
)
def test_features_are_vectors_or_the_numbers_left_over(header: str, kinds: str, features: list[str]) -> None:
    assert taken(choose(header, kinds)) == features


@pytest.mark.parametrize(
    ("header", "kinds", "message"),
    [
        ("id,path,f0", "", r"'id' and 'path' may both be the names; choose one with --name-column \(in Python name_"),
        ("label,y,f0", "", "'label' and 'y' may both be the labels; choose one with --label-column"),
        ("cam,camera,f0", "", "'cam' and 'camera' may both be the cameras; keep one"),
        ("split,fold,f0", "", "'split' and 'fold' may both be the parts; keep one"),
        ("age,f0,f1", "", r"'age' stands beside the numbered features f0 ... f1: .*--feature-columns .*such as f\\*"),
        ("f0,f1,f3", "", r"a column is missing between 'f1' and 'f3', .* --feature-columns .*, such as f\\*"),
        ("f0,f0", "", "or one is there twice"),
        ("left,right", "vv", "'left' and 'right' both hold vectors; choose one with --feature-columns"),
        ("text,f0", "on", "'text' holds no numbers .*known are id, name, .* label, class, .* --name-column"),
        ("id,label", "", "no columns are left for the features; the columns are: id, label"),
    ],
)
def test_doubt_is_refused_by_name(header: str, kinds: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose(header, kinds)


@pytest.mark.parametrize(
    ("asked", "features"),
    [
        ("f*", ["f0", "f1", "f2"]),
        ("f0:f1", ["f0", "f1"]),
        ("id:f1", ["filename", "f0", "f1"]),
        ("f1,age", ["f1", "age"]),
        (["f2", "f?"], ["f2", "f0", "f1"]),
        ("id", ["id"]),
    ],
)
def test_features_asked_for(asked: str, features: list[str]) -> None:
    columns = choose("id,filename,f0,f1,f2,age", names="filename" if asked != "id:f1" else "id", features=asked)
    assert taken(columns) == features


def test_globs_leave_what_is_known_and_titles_take_it() -> None:
    assert taken(choose("filename,fold,f0,f1", features="f*")) == ["f0", "f1"]
    columns = choose("filename,fold,f0,f1", features="fold,f*")
    assert taken(columns) == ["fold", "f0", "f1"]
    assert columns.known == {"names": 0}


def test_names_and_labels_asked_for() -> None:
    columns = choose("id,path,label,pid,f0", names="path", labels="pid")
    assert columns.known == {"names": 1, "labels": 3}
    assert columns.describe(1) == "1 feature (f0), names from path, labels from pid; left out: id, label"


@pytest.mark.parametrize("asked", [dict(names="z"), dict(labels="z"), dict(features="z"), dict(features="f0:z")])
def test_what_is_asked_for_must_be_there(asked: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"no column is 'z' .*; the columns are: id, f0"):
        choose("id,f0", **asked)


@pytest.mark.parametrize(("kinds", "message"), [("vn", "holds vectors: the features are"), ("on", "holds no numbers")])
def test_features_asked_for_must_be_numbers(kinds: str, message: str) -> None:
    with pytest.raises(InputError, match=f"column 'a' {message}"):
        choose("a,b", kinds, features="a,b")


def test_names_in_a_table_without_features() -> None:
    assert name_column(["size", "path"]) == 1
    assert name_column(["size", "what"], "what") == 1
    with pytest.raises(InputError, match="no column has a title of names: choose it with --name-column"):
        name_column(["size", "what"])


def test_only_a_column_that_counts_all_rows_is_refused() -> None:
    counts, other = np.arange(5.0), np.array([0.0, 1, 2, 4, 3])
    table = choose("a,b")
    for first in (0, 1):
        with pytest.raises(InputError, match="column 'b' counts the rows"):
            refuse_row_numbers(table, np.column_stack([other, counts + first]))
    refuse_row_numbers(table, np.column_stack([other, counts + 2]))
    refuse_row_numbers(table, np.eye(2))
    refuse_row_numbers(choose("f0,f1"), np.column_stack([other, counts]))


def test_many_titles_are_shortened() -> None:
    with pytest.raises(InputError, match=r"f0, .*, f11 and 88 more$"):
        choose(",".join(f"f{number}" for number in range(100)), names="z")
