from __future__ import annotations

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import kinfolk as kf
from kinfolk._core import memory
from kinfolk.cli import doctor

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def checks(kinfolk):
    """Run `kinfolk doctor --json`: its exit code and its checks by name."""

    def run():
        code, out, _ = kinfolk("doctor", "--json")
        return code, {check["name"]: check for check in json.loads(out)["checks"]}

    return run


@pytest.fixture
def without(monkeypatch):
    """Make some packages look as if they were not installed."""
    real = doctor._installed
    return lambda *gone: monkeypatch.setattr(doctor, "_installed", lambda p: None if p in gone else real(p))


def test_every_dependency_is_checked(checks):
    code, found = checks()
    assert code == 0
    assert found["kinfolk"]["value"] == kf.__version__
    lines = [line for line in metadata.requires("kinfolk") if not line.startswith("kinfolk[")]
    for line in lines:
        name = doctor.NAME.match(line)[0]
        if "extra ==" not in line:
            assert found[name]["value"] == metadata.version(name)
        else:
            assert name in found[f"[{doctor.EXTRA.search(line)[1]}]"]["value"]
    assert {"threads", "load", "memory", "disk"} <= found.keys()


def test_every_extra_has_its_use():
    stated = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert stated.keys() - {"all"} == doctor.USES.keys()  # all: extras, no packages of its own


def test_conditions_other_than_extras_are_read(monkeypatch):
    lines = [
        "numpy>=2.0 ; python_version >= '3.11'",
        'kinfolk[train]; extra == "pyg"',
        "torch-geometric; extra == 'pyg'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    assert doctor.requirements() == [("numpy", "numpy>=2.0", None), ("torch-geometric", "torch-geometric", "pyg")]


def test_a_missing_package_has_its_command(kinfolk, without):
    without("numba")
    code, out, _ = kinfolk("doctor")
    assert code == 1
    (line,) = [line for line in out.splitlines() if line.startswith("missing")]
    assert line.startswith("missing numba") and 'pip install "numba>=' in line


def test_a_missing_extra_is_a_note_with_its_use(kinfolk, without):
    without("pyarrow")
    code, out, _ = kinfolk("doctor")
    assert code == 0
    assert 'for reading and writing .parquet, reading .arrow and .feather: pip install "kinfolk[parquet]"' in out


def test_torch_is_not_needed(checks, without, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(metadata, "requires", lambda _: ["numpy>=2.0", 'torch>=2.4; extra == "train"'])
    without("torch")
    code, found = checks()
    assert code == 0
    assert found["[train]"]["state"] == "note"
    assert 'pip install "kinfolk[train]"' in found["[train]"]["advice"]


def test_a_machine_that_does_not_report_its_free_memory(checks, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    assert checks()[1]["memory"]["value"].endswith("GiB")
