"""Optional packages: one sentence that says how to install what is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from kinfolk._core.errors import MissingExtraError


def require(package: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    >>> require("no_such_package", extra="train")
    Traceback (most recent call last):
    kinfolk.MissingExtraError: this needs the optional package no_such_package: pip install "kinfolk[train]"
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtraError(extra, package.split(".", maxsplit=1)[0]) from error
