"""Columns: their types, and labels of texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinfolk._core.columns import checked_column, integer_labels, refuse_half_characters
from kinfolk._core.errors import InputError


@given(labels=st.lists(st.integers(-(10**17), 10**17), min_size=1))
def test_numbers_stay_numbers(labels: list[int]) -> None:
    numbers, names = integer_labels([str(label) for label in labels])
    assert numbers.tolist() == labels
    assert names == ()


@given(texts=st.lists(st.text(max_size=5).map(lambda text: "c" + text.rstrip("\0")), min_size=1))
def test_words_are_numbered(texts: list[str]) -> None:
    numbers, names = integer_labels(texts)
    assert [names[number] for number in numbers] == texts
    assert list(names) == sorted(set(texts))


def test_texts_that_only_look_like_numbers_stay_apart() -> None:
    assert len(integer_labels(["12_3", "1_23"])[1]) == 2
    assert len(integer_labels(["12345678901234567890", "1"])[1]) == 2


@pytest.mark.parametrize(
    ("value", "dtype", "says"),
    [
        ([1.5, 2.0], np.int64, "x must be int64, not float64"),
        ([1, 2, 3], np.int64, "2 were expected, the shape is"),
        (np.array([2**63, 0], dtype=np.uint64), np.int64, "row 0 is too large"),
        ([0, 1], np.bool_, "x must be bool"),
        (np.array(["a", None], dtype=object), np.str_, "x is an object array"),
    ],
)
def test_a_column_of_another_type_or_length_is_refused(value, dtype, says):
    with pytest.raises(InputError, match=says):
        checked_column("x", value, dtype, 2)


def test_half_a_character_is_named_by_its_row():
    with pytest.raises(InputError, match="names: row 1 is "):
        refuse_half_characters("names", np.array(["a", "b\udc80"]))
