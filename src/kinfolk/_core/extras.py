"""Optional packages: a missing one is an error with the command that installs it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from kinfolk._core.errors import MissingExtraError


def require(package: str, extra: str) -> ModuleType:
    """Return an optional package, or raise MissingExtraError with the extra that installs it.

    >>> require("no_such_package", extra="train")
    Traceback (most recent call last):
    kinfolk.MissingExtraError: this needs the optional package no_such_package: pip install "kinfolk[train]"
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtraError(extra, package.split(".", maxsplit=1)[0]) from error
