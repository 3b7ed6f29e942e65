"""Rules for every public name: numpydoc that agrees with the signature, an example, types."""

import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
import typing

import pytest

import kinfolk as kf

MODULES = [
    "kinfolk",
    "kinfolk.formats",
    "kinfolk.datasets",
    "kinfolk.neighbors",
    "kinfolk.metrics",
    "kinfolk.similarity",
    "kinfolk.theory",
    "kinfolk.kinship",
    "kinfolk.nn",
    "kinfolk.training",
    "kinfolk.enhance",
    "kinfolk.rerank",
    "kinfolk.cluster",
]


def exported():
    """Each function and class that a public module exports, once."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            error = inspect.isclass(thing) and issubclass(thing, Exception)  # has a sentence, and its text
            if (inspect.isfunction(thing) or inspect.isclass(thing)) and not error:
                found.setdefault(thing, f"{module.__name__}.{name}")
    return [pytest.param(thing, id=name) for thing, name in found.items()]


def sections(doc):
    """The sections of a numpydoc text: {title: lines}."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(doc or ""), flags=re.MULTILINE)
    return {title: text.strip("\n").splitlines() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def documented(doc):
    """The names under Parameters."""
    names = []
    for line in sections(doc).get("Parameters", []):
        if line and not line[0].isspace():
            names += [name.strip(" *") for name in line.split(":")[0].split(",")]
    return names


def parameters(thing):
    return list(thing.__annotations__ if typing.is_typeddict(thing) else inspect.signature(thing).parameters)


def holds_values(thing):
    """Whether a class only holds what a function returns; the example is then at the function."""
    return (
        inspect.isclass(thing)
        and (issubclass(thing, tuple) or dataclasses.is_dataclass(thing) or typing.is_typeddict(thing))
        and thing.__name__ not in kf.__all__
    )


def needs_example(thing):
    abstract = any(getattr(member, "__isabstractmethod__", False) for member in vars(thing).values())
    return not holds_values(thing) and not abstract


def test_the_reader_of_numpydoc():
    def example(a, b, *rest, c=1):
        """Add.

        Parameters
        ----------
        a, b : float
            Summands: both.
        *rest : float
            More of them.
        c : int

        Returns
        -------
        d : float
        """

    assert documented(example.__doc__) == parameters(example) == ["a", "b", "rest", "c"]
    assert list(sections(example.__doc__)) == ["Parameters", "Returns"]
    assert documented("Add.") == []


def test_every_public_name_is_there():
    assert {name for name in kf.__all__ if getattr(kf, name) is None} == set()
    assert set(kf.__all__) <= set(dir(kf))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        kf.nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize("thing", exported())
def test_documented_parameters_are_those_of_the_signature(thing):
    if holds_values(thing):
        assert [name for name in parameters(thing) if not re.search(rf"\b{name}\b", thing.__doc__, re.IGNORECASE)] == []
    else:
        assert sorted(documented(thing.__doc__)) == sorted(parameters(thing))


@pytest.mark.parametrize("thing", [param for param in exported() if needs_example(*param.values)])
def test_there_is_an_example(thing):
    # the example of a class may stand at one of its methods
    tests = doctest.DocTestFinder(recurse=inspect.isclass(thing)).find(thing, thing.__name__)
    assert any(test.examples for test in tests)


@pytest.mark.parametrize("thing", exported())
def test_functions_are_typed(thing):
    function = thing if inspect.isfunction(thing) else thing.__init__
    if not inspect.isfunction(function):
        return
    arguments = [name for name in inspect.signature(function).parameters if name != "self"]
    assert {*arguments, "return"} <= set(inspect.get_annotations(function))


USE = """
import numpy as np
import kinfolk as kf

labels = kf.cluster.Kin(verbose=True).fit_predict(np.eye(4))
reveal_type(labels)
reveal_type(kf.cluster.GCut().fit(np.eye(4)).labels_)
reveal_type(kf.nn.BandAttention)
"""


@pytest.mark.slow
def test_a_users_type_checker_knows_what_clusterers_return(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    command = [sys.executable, "-m", "mypy", "--config-file", "", "use.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    arrays = re.findall(r"Revealed type is .numpy.ndarray\[.*numpy.signedinteger\[.*_64Bit\]", said)
    assert len(arrays) == 2, said
    assert "BandAttention" in said


def test_the_networks_are_reached_from_the_root():
    assert kf.nn.BandAttention is importlib.import_module("kinfolk.nn").BandAttention
