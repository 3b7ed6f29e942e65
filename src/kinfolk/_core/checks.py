"""Checks of arguments; each error is one sentence with the name, what was expected, and the value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk._core.errors import InputError

LARGEST = 2**31 - 1  # of a whole number: rows, seeds and counts are 32 bits wide in faiss, numba and igraph
MOST_NEIGHBORS = 1 << 20  # 8 MB of graph for each row
MOST_HOPS = 1000  # the mean of means no longer changes after some dozens of hops


def is_whole(value: Any, least: int = 1) -> bool:
    """Return whether a value is a whole number from `least` on; True and False are not.

    >>> is_whole(3), is_whole(0), is_whole(True), is_whole(2.0)
    (True, False, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def check_whole(name: str, value: Any, least: int = 1, *, auto: bool = False) -> None:
    """Raise InputError unless `value` is a whole number from `least` on, or "auto" where that is allowed.

    >>> check_whole("k", 0, auto=True)
    Traceback (most recent call last):
    kinfolk.InputError: k must be a whole number from 1 on, or "auto", not 0
    """
    if is_whole(value, least) or (auto and isinstance(value, str) and value == "auto"):
        check_finite({name: value})
        return
    alternative = ', or "auto"' if auto else ""
    raise InputError(f"{name} must be a whole number from {least} on{alternative}, not {value!r}")


def check_finite(values: Mapping[str, Any]) -> None:
    """Raise InputError if a number among the values is infinite, not a number, or larger than 32 bits hold.

    >>> check_finite(dict(k=80, threshold=float("nan")))
    Traceback (most recent call last):
    kinfolk.InputError: threshold must be a finite number, not nan
    """
    for name, value in values.items():
        if isinstance(value, float | np.floating) and not math.isfinite(value):
            raise InputError(f"{name} must be a finite number, not {value}")
        if isinstance(value, int | np.integer) and abs(int(value)) > LARGEST:
            raise InputError(f"{name} must not be larger than {LARGEST:,}, not {value:.6g}")


def check_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf, *, auto: bool = False
) -> None:
    """Raise InputError unless `value` is a finite number from `least` to `most`, or "auto" where that is allowed.

    >>> check_number("eps", -1, least=0)
    Traceback (most recent call last):
    kinfolk.InputError: eps must be a number from 0 on, not -1
    """
    if auto and isinstance(value, str) and value == "auto":
        return
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if number and (math.isnan(value) or least <= value <= most):
        check_finite({name: value})
        return
    limits = f" from {least:,} to {most:,}" if most < math.inf else f" from {least:,} on"
    if least == -math.inf:
        limits = f" up to {most:,}" if most < math.inf else ""
    alternative = " or 'auto'" if auto else ""
    raise InputError(f"{name} must be a number{limits}{alternative}, not {value!r}")


def check_seed(value: Any, name: str = "seed") -> None:
    """Raise InputError unless `value` can be the seed of everything random: a whole number from 0 on.

    >>> check_seed(-1, "random_state")
    Traceback (most recent call last):
    kinfolk.InputError: random_state must be a whole number from 0 on, not -1
    """
    check_whole(name, value, least=0)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise InputError unless `value` is one of the choices.

    >>> check_choice("recipe", "slow", ("fast", "paper"))
    Traceback (most recent call last):
    kinfolk.InputError: recipe must be one of fast, paper, not 'slow'
    """
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
