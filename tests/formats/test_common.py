from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk.formats._common import as_vector, labels_from_texts, number_parts, one_truth_value, read_lines, reading


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("first\nsecond"), r"^a.npz cannot be read as x, it may be damaged or truncated: first$"),
        (KeyError(), r"^a.npz cannot be read as x, it may be damaged or truncated: KeyError$"),
        (PermissionError(13, "Permission denied"), r"^a.npz cannot be read: Permission denied$"),
        (InputError("labels are wrong"), r"^a.npz: labels are wrong$"),
    ],
)
def test_every_failure_becomes_one_sentence(error: Exception, message: str) -> None:
    with pytest.raises(InputError, match=message), reading(Path("a.npz"), "x"):
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MissingExtraError("parquet", "pyarrow")])
def test_what_is_not_about_the_file_passes(error: BaseException) -> None:
    with pytest.raises(type(error)), reading(Path("a.npz"), "x"):
        raise error


def test_empty_texts_are_unknown_labels() -> None:
    numbers, names = labels_from_texts(["", "5", ""])
    assert numbers.tolist() == [-1, 5, -1]
    assert names == ()
    assert labels_from_texts([""])[0].tolist() == [-1]


def test_parts_keep_a_given_order() -> None:
    numbers, names = number_parts(["test", "other"], order=("train", "test"))
    assert numbers.tolist() == [1, 2]
    assert names == ("train", "test", "other")


def test_vectors() -> None:
    with pytest.raises(InputError, match=r"x must be one value a row, not of the shape \(2, 2\)"):
        as_vector("x", np.eye(2))
    with pytest.raises(InputError, match="x must be one value a row"):
        as_vector("x", np.array(5))


@pytest.mark.parametrize("value", [True, 1, 1.0, np.True_, np.array(1), np.array([[1.0]]), [True, True]])
def test_one_truth_value_in_any_form(value: object) -> None:
    assert one_truth_value("x", value) is True
    assert one_truth_value("x", np.logical_not(value)) is False


@pytest.mark.parametrize("value", [2, "true", None, [], [True, False], np.nan])
def test_what_is_not_one_truth_value(value: object) -> None:
    with pytest.raises(InputError, match="x must be true or false, the same for the whole set"):
        one_truth_value("x", value)


def test_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffa \r\n b\n\n".encode())
    assert read_lines(tmp_path / "a.txt") == ["a", "b"]


def test_a_message_that_quotes_lines_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^a\.csv: the cell one two is not known$"), reading(Path("a.csv"), "a table"):
        raise InputError("the cell one\ntwo is not known")
