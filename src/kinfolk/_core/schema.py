"""Facts that a file states, checked against a model: an error names the file, the field and what it may be."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kinfolk._core.errors import InputError


class Facts(BaseModel):
    """Base of the models: no text becomes a number, no number a truth value, nothing infinite, nothing unknown."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


M = TypeVar("M", bound=BaseModel)


def checked(model: type[M], values: Any, source: object) -> M:
    """Return the values as the model, or raise InputError about the first that is wrong.

    >>> class Search(Facts):
    ...     k: int
    >>> checked(Search, {"k": "x"}, "graph.json")
    Traceback (most recent call last):
    kinfolk.InputError: graph.json: k must be a valid integer, not 'x'
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{source}: {_sentence(error.errors()[0])}") from None


def _sentence(problem: Mapping[str, Any]) -> str:
    places = [str(place) for place in problem["loc"]]
    # pydantic also names the member of a union, such as "constrained-int"
    field = ".".join(place for place in places if place.isidentifier() or place.isdigit()) or "the content"
    kind = problem["type"]
    if kind == "missing":
        return f"{field} is missing"
    if kind == "extra_forbidden":
        return f"{field} is not known to this version"
    expected = problem["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    # reprlib: a wrong value may be huge or nested deep
    return f"{field} {expected}, not {reprlib.repr(problem['input'])}"
