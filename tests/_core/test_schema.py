"""What a file states is checked in one place, and one sentence says what is wrong."""

from typing import Annotated

import pytest
from pydantic import Field

from kinfolk._core.errors import InputError
from kinfolk._core.schema import Facts, checked


class Inner(Facts):
    theta: Annotated[float, Field(ge=0, le=10)] = 1.0


class Example(Facts):
    k: Annotated[int, Field(ge=1, le=100)]
    inner: Inner = Inner()


def test_what_fits_is_returned():
    assert checked(Example, {"k": 3, "inner": {"theta": 2}}, "a").inner.theta == 2.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "a.json: k is missing"),
        ({"k": 10**9}, "a.json: k must be less than or equal to 100, not 1000000000"),
        ({"k": "3"}, "a.json: k must be a valid integer, not '3'"),
        ({"k": True}, "a.json: k must be a valid integer, not True"),
        ({"k": 1.5}, "a.json: k must be a valid integer, not 1.5"),
        ({"k": float("inf")}, "a.json: k must be a valid integer, not inf"),
        ({"k": 1, "inner": {"theta": float("nan")}}, "a.json: inner.theta must be a finite number, not nan"),
        ({"k": 1, "more": 2}, "a.json: more is not known to this version"),
        ([], "a.json: the content must be a valid dictionary or instance of Example, not []"),
        ({"k": "x" * 1000}, r"k must be a valid integer, not 'x+\.\.\.x+'$"),
    ],
)
def test_what_does_not_fit_is_one_sentence(values, message):
    with pytest.raises(InputError, match=message.replace("[]", r"\[\]")) as caught:
        checked(Example, values, "a.json")
    assert "\n" not in str(caught.value)


def test_values_that_are_nested_too_deep():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match=r"a\.json"):
        checked(Example, {"k": deep}, "a.json")
