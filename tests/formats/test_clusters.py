from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats.clusters import read_clusters, write_clusters

NAMES = np.array(["a.jpg", 'b, "c"', "d\re", "a.jpg", "\u00e9\nf", ""])
LABELS = np.array([2, 0, -1, 0, 1, 5])


def test_every_row_comes_back_even_of_the_same_name(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    for names in (NAMES, None):
        write_clusters(file, LABELS, names, force=True)
        assert read_clusters(file, 6, names).tolist() == LABELS.tolist()


def test_the_columns(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    write_clusters(file, LABELS, NAMES, np.linspace(0, 1, 6), LABELS == 0)
    with file.open(newline="", encoding="utf-8") as sheet:
        header, *rows = csv.reader(sheet)
    assert header == ["id", "cluster", "confidence", "second", "is_medoid"]
    assert [row[0] for row in rows] == NAMES.tolist()
    assert [int(row[1]) for row in rows] == LABELS.tolist()
    assert [row[2] for row in rows] == ["0.0000", "0.2000", "0.4000", "0.6000", "0.8000", "1.0000"]
    assert {row[3] for row in rows} == {""}
    assert [row[4] for row in rows] == ["0", "1", "0", "1", "0", "0"]


def test_labels_alone_as_an_array(tmp_path: Path) -> None:
    write_clusters(tmp_path / "c.npy", LABELS, NAMES)
    assert np.load(tmp_path / "c.npy").tolist() == LABELS.tolist()
    assert read_clusters(tmp_path / "c.npy", 6).tolist() == LABELS.tolist()


@pytest.mark.parametrize("key", ["id", "name"])
def test_ids_that_are_there_once_are_matched_in_any_order(key: str, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(f"cluster,{key}\n5,z\n7,b\n,c\n3,a\n")
    assert read_clusters(tmp_path / "c.csv", 3, np.array(["a", "b", "c"])).tolist() == [3, 7, -1]


@pytest.mark.parametrize("key", ["id", "row"])
def test_rows_by_number_with_and_without_names(key: str, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(f"{key},cluster\n0,4\n1,5\n")
    assert read_clusters(tmp_path / "c.csv", 2).tolist() == [4, 5]
    assert read_clusters(tmp_path / "c.csv", 2, np.array(["a", "b"])).tolist() == [4, 5]
    (tmp_path / "c.csv").write_text(f"{key},cluster\n1,5\n0,4\n")
    assert read_clusters(tmp_path / "c.csv", 2).tolist() == [4, 5]


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        ("id,cluster\na,1\nb\n", ["a", "b"], "line 3 has 1 columns, 2 were expected"),
        ("id,cluster\na,1\nb,2,3\n", ["a", "b"], "line 3 has 3 columns, 2 were expected"),
        ("id,cluster,confidence,second,is_medoid\na,1\n", ["a"], "line 2 has 2 columns, 5 were expected"),
        ("id,group\na,1\n", ["a"], r"id,cluster \(or name,cluster or row,cluster\) were expected, not id,group"),
        ("cluster\n1\n", ["a"], "were expected, not cluster"),
        ("id,cluster\n", ["a"], "no cluster for id 'a', nor for 0 others"),
        ("id,cluster\nb,1\na,1\nb,2\n", ["a", "b", "b"], "line 4: id 'b' is there twice, and the rows are not in"),
        ("id,cluster\nb,1\na,1\n", ["a", "b", "b"], "2 rows of the set are called 'b', and the clusters are not in"),
        ("id,cluster\nb,1\n", ["a", "b"], "no cluster for id 'a', nor for 0 others"),
        ("id,cluster\n0,1\n", None, "clusters of 1 rows, but 2 to score: were they made from another --part"),
        ("id,cluster\nx,1\ny,2\n", None, "no cluster for id '0', nor for 1 others"),
        ("name,cluster\na,1\n", None, "the features have no names: give them with --names"),
        ("row,cluster\n0,1\n0,2\n", ["a", "b"], "line 3: row '0' is there twice"),
    ],
)
def test_what_cannot_be_matched_is_refused(text: str, names: list[str] | None, message: str, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(InputError, match=f"c.csv: .*{message}"):
        read_clusters(
            tmp_path / "c.csv", 2 if names is None else len(names), None if names is None else np.array(names)
        )


def test_names_that_a_spreadsheet_would_run_are_read_as_they_were(tmp_path: Path) -> None:
    names = np.array(["=cmd", "b", "=cmd"])
    write_clusters(tmp_path / "c.csv", np.arange(3), names, safe_cells=True)
    assert "\n=cmd" not in (tmp_path / "c.csv").read_text()
    assert read_clusters(tmp_path / "c.csv", 3, names).tolist() == [0, 1, 2]
    write_clusters(tmp_path / "d.csv", np.arange(2), names[1:], safe_cells=True)
    assert read_clusters(tmp_path / "d.csv", 2, names[:2]).tolist() == [1, 0]


def test_a_cell_made_safe_is_not_taken_for_another_name(tmp_path: Path) -> None:
    file = tmp_path / "clusters.csv"
    file.write_text("id,cluster\n'=a,5\nelse,6\n")
    with pytest.raises(InputError, match="no cluster for id '=a'"):
        read_clusters(file, 2, np.array(["=a", "'=a"]))
    assert read_clusters(file, 2, np.array(["else", "=a"])).tolist() == [6, 5]
