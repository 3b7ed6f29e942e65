from __future__ import annotations

import numpy as np
import pytest

from kinfolk._core.checks import check_choice, check_whole, is_whole
from kinfolk._core.errors import InputError


@pytest.mark.parametrize("value", [1, 7, np.int64(1), np.uint8(3), 10**30])
def test_whole_numbers(value):
    assert is_whole(value)
    check_whole("k", value)
    check_whole("k", value, auto=True)


@pytest.mark.parametrize(
    "value", [0, -1, True, False, np.True_, 1.0, np.float32(2), "1", "auto", None, [1], np.ones(2)]
)
def test_everything_else(value):
    assert not is_whole(value)
    with pytest.raises(InputError, match="k must be a whole number from 1 on, not"):
        check_whole("k", value)


def test_the_least_number():
    assert is_whole(0, least=0)
    assert not is_whole(1, least=2)
    with pytest.raises(InputError, match="size must be a whole number from 2 on, not 1"):
        check_whole("size", 1, least=2)


@pytest.mark.parametrize("value", [0, "Auto", None, np.array(["auto"])])
def test_auto_is_one_word(value):
    check_whole("k", "auto", auto=True)
    with pytest.raises(InputError, match='k must be a whole number from 1 on, or "auto", not'):
        check_whole("k", value, auto=True)


def test_choices():
    check_choice("recipe", "fast", ("fast", "paper"))
    for value in ("slow", None, 1, "Fast"):
        with pytest.raises(InputError, match="recipe must be one of fast, paper, not"):
            check_choice("recipe", value, ("fast", "paper"))
