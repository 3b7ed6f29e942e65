from __future__ import annotations

import pickle

import pytest

import kinfolk as kf
from kinfolk._core.errors import InputError, KinfolkError, MissingExtraError


def test_errors_can_be_caught_as_those_of_python():
    assert issubclass(InputError, KinfolkError) and issubclass(InputError, ValueError)
    assert issubclass(MissingExtraError, KinfolkError) and issubclass(MissingExtraError, ImportError)


@pytest.mark.parametrize("name", ["KinfolkError", "InputError", "MissingExtraError"])
def test_tracebacks_name_them_as_they_are_imported(name):
    error = getattr(kf, name)
    assert f"{error.__module__}.{error.__qualname__}" == f"kinfolk.{name}"


def test_an_input_error_crosses_processes():
    again = pickle.loads(pickle.dumps(InputError("k must be 1")))
    assert (type(again), str(again)) == (InputError, "k must be 1")


def test_the_command_that_installs_an_extra():
    assert 'pip install "kinfolk[train]"' in str(MissingExtraError("train", "torch"))
