from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import load, save


def read(tmp_path: Path, text: str, name: str = "a.csv") -> FeatureSet:
    (tmp_path / name).write_bytes(text.encode())
    return load(tmp_path / name)


def test_the_mark_of_enhanced_features(tmp_path: Path) -> None:
    assert read(tmp_path, "enhanced,f0\n1,2\ntrue,3\n").enhanced
    assert not read(tmp_path, "enhanced,f0\n0,2\n0,3\n").enhanced
    with pytest.raises(InputError, match="enhanced must be true or false, the same for the whole set"):
        read(tmp_path, "enhanced,f0\n1,2\n0,3\n")
    with pytest.raises(InputError, match="line 2, column 'enhanced': 'yes' is not one of 0, 1, false, true"):
        read(tmp_path, "enhanced,f0\nyes,2\n")


def test_every_column_by_its_other_name(tmp_path: Path) -> None:
    fs = read(tmp_path, "x,PID,y,CamID,Path,query,part\n1,cat,2,3,p.jpg,true,test\n3,,4,4,q.jpg,0,train\n")
    np.testing.assert_array_equal(fs.features, [[1, 2], [3, 4]])
    assert fs.labels is not None and fs.cameras is not None and fs.names is not None and fs.query is not None
    assert fs.labels.tolist() == [0, -1]
    assert fs.label_names == ("cat",)
    assert fs.cameras.tolist() == [3, 4]
    assert fs.names.tolist() == ["p.jpg", "q.jpg"]
    assert fs.query.tolist() == [True, False]
    assert fs.part_names == ("test", "train")


@pytest.mark.parametrize(
    "text", ["1,2\n3,4\n", "1,2\r\n3,4", "\ufeff1,2\n\n3,4\n\n", "a,b\n1,2\n3,4\n", '"1","2"\n3,4']
)
def test_with_and_without_header(text: str, tmp_path: Path) -> None:
    fs = read(tmp_path, text)
    np.testing.assert_array_equal(fs.features, [[1, 2], [3, 4]])
    assert fs.labels is None


def test_tabs(tmp_path: Path) -> None:
    fs = read(tmp_path, "label\tf0\tf1\n-1\t1e-3\t2\n", "a.tsv")
    np.testing.assert_array_equal(fs.features, np.float32([[1e-3, 2]]))
    assert fs.labels is not None
    assert fs.labels.tolist() == [-1]


def test_every_float32_comes_back(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(1, 0x7F7FFFFF, (100, 7)).astype(np.uint32)
    fs = FeatureSet(bits.view(np.float32))
    save(fs, tmp_path / "a.csv")
    np.testing.assert_array_equal(load(tmp_path / "a.csv").features, fs.features)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f1,f2,f3\n" + "1,2,3\n" * 5 + "1,2,abc\n", "line 7, column 'f3': 'abc' is not a number"),
        ("1,2\n3,x\n", "line 2, column '2': 'x' is not a number"),
        ("label,f\n1,\n", "line 2, column 'f': '' is not a number"),
        ("1,2\n3\n", "line 2 has 1 columns, 2 were expected"),
        ("cam,f\nx,1\n", "line 2, column 'cam': 'x' is not an integer"),
        ("query,f\n2,1\n", "line 2, column 'query': '2' is not one of 0, 1, false, true"),
        ("label,pid,f\n1,1,1\n", "columns 'label' and 'pid' may both be the labels; choose one with --label"),
        ("label,name\n1,x\n", "no columns are left for the features"),
        ("f0,,f1\n0,1,2\n", "column 2 has no name in the header"),
        ("a,b\n1\n", "line 2 has 1 columns, 2 were expected"),
        ("text,f0\nhello,1\n", "column 'text' holds no numbers and its title is not known; known are id, name"),
        ("emb\n[1]\n[1 2]\n", "line 3, column 'emb': '.1 2.' is not a list of numbers"),
        ('emb\n"[1,2,3,4]"\n"[1,2]"\n', "line 3: the vector has 2 values, other than those before it"),
        ("nr,width\n0,5\n1,6\n2,4\n", "column 'nr' counts the rows, so it is hardly a feature"),
        ("a,b\n", "a header, but no rows"),
        ("\n\n", "no rows, only blank lines"),
        ("1,2\n0,0\n", "row 1 is a zero vector"),
        ("1,2\nnan,0\n", "row 1 has NaN"),
        ("1,2\n1e99,0\n", "row 1 has an infinite value"),
    ],
)
def test_errors_name_line_and_column(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"a.csv: .*{message}"):
        read(tmp_path, text)


def test_not_utf8_and_cells_without_end(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"name,f\n\xff,1\n")
    with pytest.raises(InputError, match=r"a.csv cannot be read as a table of UTF-8 text"):
        load(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"a.csv: line 2: field larger than field limit"):
        read(tmp_path, f"name,f\n{'x' * 200_000},1\n")


def test_a_numeric_id_is_no_feature(tmp_path: Path) -> None:
    fs = read(tmp_path, "id,f0,f1\n1001,1,2\n1002,3,4\n")
    np.testing.assert_array_equal(fs.features, [[1, 2], [3, 4]])
    assert fs.names is not None
    assert fs.names.tolist() == ["1001", "1002"]
    assert fs.taken_from == "2 features (f0, f1), names from id"


@pytest.mark.parametrize(
    ("header", "names", "said"),
    [
        (",label,f0", ["5", "7"], "1 feature (f0), names from the column without a title, labels from label"),
        ("index,id,f0", ["1", "2"], "1 feature (f0), names from id; left out: index"),
        ("Unnamed: 0,label,f0", ["5", "7"], "1 feature (f0), names from Unnamed: 0, labels from label"),
    ],
)
def test_the_index_that_pandas_writes(header: str, names: list[str], said: str, tmp_path: Path) -> None:
    fs = read(tmp_path, f"{header}\n5,1,1\n7,2,1\n")
    assert fs.names is not None
    assert (fs.names.tolist(), fs.taken_from) == (names, said)


def test_labels_with_gaps_are_the_numbers_that_pandas_had(tmp_path: Path) -> None:
    fs = read(tmp_path, "label,f0\n3.0,1\n,1\n-1.0,1\n")
    assert fs.labels is not None
    assert (fs.labels.tolist(), fs.label_names) == ([3, -1, -1], ())
    assert read(tmp_path, "label,f0\n3.0,1\n3,1\n").label_names == ("3", "3.0")


def test_a_column_of_vectors(tmp_path: Path) -> None:
    fs = read(tmp_path, 'text,embedding\nhello,"[0.5, 1]"\nworld,"[2, -1e-3]"\n')
    np.testing.assert_array_equal(fs.features, np.float32([[0.5, 1], [2, -1e-3]]))
    assert fs.taken_from == "2 features (embedding); left out: text"


def test_without_a_header_nothing_is_recognised_nor_asked_for(tmp_path: Path) -> None:
    fs = read(tmp_path, "0,2\n1,3\n2,5\n")
    assert (fs.dim, fs.taken_from) == (2, "2 features (no header)")
    with pytest.raises(InputError, match="this table has no header"):
        load(tmp_path / "a.csv", name_column="0")


@pytest.mark.parametrize("text", ["id;f0;f1\na;0,5;1,5\n", "id;f0\na;0.5\n", "1;2\n3;4\n"])
def test_semicolons_between_the_columns_are_named(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv: there are semicolons between the columns: save it with commas"):
        read(tmp_path, text)
