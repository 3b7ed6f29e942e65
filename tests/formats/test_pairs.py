"""Pairs of rows: by name or by number, and what is said about wrong ones."""

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats._pairs import read_pairs

NAMES = np.array(["a", "b, c", "d", "d"])


@pytest.mark.parametrize(("suffix", "text"), [("csv", 'a,"b, c"\n\n"b, c",a\n'), ("tsv", "a\tb, c\nb, c\ta\n")])
def test_pairs_by_name(tmp_path, suffix, text):
    file = tmp_path / f"pairs.{suffix}"
    file.write_text(text)
    assert read_pairs(file, 4, NAMES).tolist() == [[0, 1], [1, 0]]


def test_pairs_by_number_and_blank_lines(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("3,0\n")
    assert read_pairs(file, 4).tolist() == [[3, 0]]
    file.write_text("\n\n")
    assert read_pairs(file, 4).shape == (0, 2)
    file.write_text("")
    with pytest.raises(InputError, match="is empty"):
        read_pairs(file, 4)


@pytest.mark.parametrize(
    ("names", "text", "said"),
    [
        (NAMES, "a,e\n", "line 1: no row is called 'e'"),
        (NAMES, "a,d\n", "line 1: 2 rows are called 'd'"),
        (NAMES, "a,0\n", "no row is called '0'"),
        (None, "\n0,4\n", "line 2: no row is called '4'; rows without names are numbered from 0 to 3"),
        (None, "0,1,2\n", "line 1 must have two ids, without a header, not 3 columns"),
        (None, "0,1\n2\n", "line 2 has 1 columns, 2 were expected"),
    ],
)
def test_wrong_pairs_are_named(tmp_path, names, text, said):
    file = tmp_path / "pairs.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_pairs(file, 4, names)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"pairs are read from \.csv, \.tsv files"):
        read_pairs(tmp_path / "pairs.npy", 4)
