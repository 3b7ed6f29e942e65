from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk._core.errors import InputError
from kinfolk.formats import load
from kinfolk.formats._labels import find_labels, read_labels

BESIDE = ["a.labels.npy", "a.labels.txt", "a_labels.npy", "a_labels.txt", "a.meta"]


def write_labels(path: Path, labels: list[int]) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, labels)
    else:
        path.write_text("".join(f"{label}\n" for label in labels))


@pytest.mark.parametrize("suffix", [".npy", ".bin"])
@pytest.mark.parametrize("name", [*BESIDE, "../labels/a.meta", "../label/a.npy", "../labels/a.txt"])
def test_labels_are_found(suffix: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "feature").mkdir()
    features = np.ones((3, 2), dtype=np.float32)
    if suffix == ".npy":
        np.save(tmp_path / "feature" / "a.npy", features)
    else:
        features.tofile(tmp_path / "feature" / "a.bin")
    write_labels(tmp_path / "feature" / name, [5, -1, 7])
    monkeypatch.chdir(tmp_path / "feature")  # a path without folders must find its neighbours too
    fs = load(f"a{suffix}", dim=2)
    assert fs.labels is not None
    assert fs.labels.tolist() == [5, -1, 7]


def test_the_order_of_the_search_and_explicit_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(1))
    for number, name in reversed(list(enumerate(BESIDE))):
        write_labels(tmp_path / name, [number])
        assert find_labels(tmp_path / "a.npy") == tmp_path / name
    fs = load(tmp_path / "a.npy", labels=tmp_path / "a.meta")
    assert fs.labels is not None
    assert fs.labels.tolist() == [4]


def test_no_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2))
    assert load(tmp_path / "a.npy").labels is None


@settings(deadline=None)
@given(
    labels=st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1),
    newline=st.sampled_from(["\n", "\r\n", " \n"]),
    end=st.booleans(),
)
def test_integer_lines(labels: list[int], newline: str, end: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.meta"
        file.write_bytes((newline.join(map(str, labels)) + newline * end).encode())
        numbers, names = read_labels(file)
    assert numbers.tolist() == labels
    assert names == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\n2\nabc\n4\n", "line 3: 'abc' is not an integer label"),
        ("1\n2 3\n", "line 2: '2 3' is not an integer label"),
        ("1\n2-3\n\n4", "line 3 is empty"),
        ("1-2\n4", "line 1: '1-2' is not an integer label"),
        ("1\n\n2\n", "line 2 is empty"),
        ("\n1\n", "line 1 is empty"),
        ("1\n-\n", "line 2: '-' is not an integer label"),
        ("1\n1.5\n", "line 2: '1.5' is not an integer label"),
        ("1\n99999999999999999999\n", "line 2: '99999999999999999999' is not an integer label"),
        ("\n\n", "line 1 is empty"),
    ],
)
def test_a_line_of_meta_that_is_not_an_integer(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.meta").write_text(content)
    with pytest.raises(InputError, match=f"a.meta: {message}"):
        read_labels(tmp_path / "a.meta")


def test_words_in_txt(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("zebra\nüber\nzebra\n", encoding="utf-8")
    numbers, names = read_labels(tmp_path / "a.txt")
    assert numbers.tolist() == [0, 1, 0]
    assert names == ("zebra", "über")


def test_text_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("über".encode("latin-1"))
    with pytest.raises(InputError, match=r"a.txt cannot be read as UTF-8 text"):
        read_labels(tmp_path / "a.txt")


@pytest.mark.parametrize("shape", [(4,), (4, 1), (1, 4)])
def test_npy_labels_may_be_rows_or_columns(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(4).reshape(shape))
    assert read_labels(tmp_path / "a.npy")[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(4), "a.labels.npy has 4 labels, but .*a.npy has 3 rows of 2 values$"),
        (np.ones(3) / 2, "a.labels.npy: labels must be int64, not float64"),
        (np.ones((2, 2)), r"a.labels.npy: labels must be one value a row, not of the shape \(2, 2\)"),
        (np.zeros(0), "a.labels.npy has 0 labels"),
        (np.array([1.0, 2.0, np.inf]), "labels must be int64, not float64"),
        (np.array([1.0, 2.0, 1e30]), "labels: row 2 is too large"),
        (np.array([1, 2, 2**64 - 1], dtype=np.uint64), "labels: row 2 is too large"),
    ],
)
def test_wrong_npy_labels(labels: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "a.labels.npy", labels)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "a.npy")


def test_other_label_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(1))
    with pytest.raises(InputError, match=r"nowhere.txt does not exist"):
        load(tmp_path / "a.npy", labels=tmp_path / "nowhere.txt")
    (tmp_path / "a.csv").write_text("1\n")
    with pytest.raises(InputError, match=r"labels are read from .npy, .txt, .meta files"):
        load(tmp_path / "a.npy", labels=tmp_path / "a.csv")
