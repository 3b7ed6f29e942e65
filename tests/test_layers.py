"""The contracts of import-linter in pyproject.toml refuse what they should: shown on a package of stubs."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = next(contract["layers"] for contract in CONTRACTS if contract["id"] == "layers")
PROTECTED = [contract for contract in CONTRACTS if contract["type"] == "protected" and contract["id"] != "root"]

VIOLATIONS = {
    "upwards": ("kinfolk.similarity", "from kinfolk.cluster import Kin"),
    "upwards in a function": ("kinfolk.metrics", "def f():\n    from kinfolk.cluster import Kin"),
    "upwards for types": (
        "kinfolk.metrics",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import kinfolk.theory",
    ),
    "upwards through the root": ("kinfolk.neighbors", "def f():\n    from kinfolk import rerank"),
    "a name of the root": ("kinfolk.report", "def f():\n    from kinfolk import GraphEnhancer"),
    "the bare root": ("kinfolk.cli", "import kinfolk"),
    "torch": ("kinfolk.similarity", "def f():\n    import torch"),
    "torch for types": ("kinfolk.features", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"),
    "part of torch": ("kinfolk.enhance", "def f():\n    from torch.nn import functional"),
    "torch beside the learned": ("kinfolk.cluster.kin", "import torch"),
    "a folder without a place": ("kinfolk.somewhere", ""),
}


def lint(folder):
    program = Path(sys.executable).with_name("lint-imports")
    command = [program, "--no-cache", "--no-logo", "--config", ROOT / "pyproject.toml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def write(folder, module, text):
    """Add `text` to a module, which becomes a package: every stub is one."""
    path = folder.joinpath(*module.split("."))
    for parent in [*reversed(path.relative_to(folder).parents), path.relative_to(folder)][1:]:
        (folder / parent).mkdir(exist_ok=True)
        (folder / parent / "__init__.py").touch()
    with (path / "__init__.py").open("a") as file:
        file.write(text + "\n")


@pytest.fixture
def stubs(tmp_path):
    """A package with an empty stub for each layer; every module that may import an outside package does."""
    for layer in LAYERS:
        write(tmp_path, f"kinfolk.{layer}", "")
    for contract in PROTECTED:
        for importer in contract["allowed_importers"]:
            for package in contract["protected_modules"]:
                write(tmp_path, importer, f"import {package}")
    return tmp_path


def test_what_the_design_allows_is_kept(stubs):
    write(stubs, "kinfolk.cluster", "def f():\n    from kinfolk.metrics import pairwise")
    write(stubs, "kinfolk.cluster", "def g():\n    from kinfolk import neighbors")
    done = lint(stubs)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_violations_are_seen(stubs, violation):
    module, text = VIOLATIONS[violation]
    write(stubs, module, text)
    done = lint(stubs)
    assert done.returncode == 1
    assert "1 broken" in done.stdout
    assert module in done.stdout.split("Broken contracts")[1]
