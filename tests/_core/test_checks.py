from __future__ import annotations

import numpy as np
import pytest

from kinfolk._core.checks import (
    LARGEST,
    check_choice,
    check_finite,
    check_number,
    check_seed,
    check_whole,
    is_whole,
)
from kinfolk._core.errors import InputError


@pytest.mark.parametrize("value", [1, 7, np.int64(1), np.uint8(3), 2**31 - 1])
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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("nan"), np.float64("inf")])
def test_numbers_are_finite(value):
    for check in (lambda: check_finite({"eps": value}), lambda: check_number("eps", value)):
        with pytest.raises(InputError, match="eps must be a finite number, not"):
            check()
    check_finite(dict(a=1.5, b="inf", c=None, d=True, e=np.float32(2)))


@pytest.mark.parametrize("value", [LARGEST + 1, -LARGEST - 1, 10**30, np.int64(2**40)])
def test_whole_numbers_fit_into_32_bits(value):
    with pytest.raises(InputError, match="k must not be larger than 2,147,483,647, not"):
        check_finite({"k": value})
    check_finite({"k": LARGEST})


def test_numbers_within_limits():
    check_number("eps", 0.0, least=0)
    check_number("recall", np.float32(1), least=0, most=1)
    check_number("threshold", "auto", auto=True)
    for value in (-1, True, "0.5", None, "auto", [1.0]):
        with pytest.raises(InputError, match="eps must be a number from 0 on, not"):
            check_number("eps", value, least=0)
    with pytest.raises(InputError, match="recall must be a number from 0 to 1, not 2"):
        check_number("recall", 2, least=0, most=1)
    with pytest.raises(InputError, match="k must be a number up to 1,000, not 2000"):
        check_number("k", 2000, most=1000)
    with pytest.raises(InputError, match="threshold must be a number or 'auto', not 'theory'"):
        check_number("threshold", "theory", auto=True)


def test_seeds():
    check_seed(0)
    check_seed(np.int64(LARGEST), "random_state")
    for value in (-1, 1.0, None, "0"):
        with pytest.raises(InputError, match="seed must be a whole number from 0 on, not"):
            check_seed(value)


def test_choices():
    check_choice("recipe", "fast", ("fast", "paper"))
    for value in ("slow", None, 1, "Fast"):
        with pytest.raises(InputError, match="recipe must be one of fast, paper, not"):
            check_choice("recipe", value, ("fast", "paper"))
