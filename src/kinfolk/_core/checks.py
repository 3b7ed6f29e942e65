"""Checks of arguments; each error is one sentence with the name, what was expected, and the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk._core.errors import InputError


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
        return
    alternative = ', or "auto"' if auto else ""
    raise InputError(f"{name} must be a whole number from {least} on{alternative}, not {value!r}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise InputError unless `value` is one of the choices.

    >>> check_choice("recipe", "slow", ("fast", "paper"))
    Traceback (most recent call last):
    kinfolk.InputError: recipe must be one of fast, paper, not 'slow'
    """
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
