"""Generated pages are current, the examples of CONTRIBUTING run, and the documentation builds without a warning."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OPTIONAL_GROUPS = {"dev", "docs", "bench"}  # for working on kinfolk, not for using it


def test_the_reference_of_the_command_line_is_current():
    made = runpy.run_path(str(ROOT / "tools" / "make_cli_reference.py"))["reference"]()
    assert (ROOT / "docs" / "cli.md").read_text() == made, "run: make docs"


def test_the_reference_pages_are_current():
    tool = runpy.run_path(str(ROOT / "tools" / "make_api_reference.py"))
    for package in tool["PAGES"]:
        assert (ROOT / "docs" / "reference" / f"{package}.md").read_text() == tool["page"](package), "run: make docs"


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f" {page}\n" not in navigation] == []


def test_the_examples_of_contributing_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(compile(block, "CONTRIBUTING.md", "exec"), names)


def test_contributing_lists_the_layers_in_order():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    listed = re.findall(r"^    (\w+) {2,}\S", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    assert listed == layers[::-1]


def test_the_installation_page_has_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "install.md").read_text(), flags=re.MULTILINE)
    assert set(listed) == set(extras) - OPTIONAL_GROUPS


def test_only_constraints_pin_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    assert [package for package in wanted if "==" in package] == []
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE))
    names = {re.match(r"[\w.-]+", package)[0] for package in wanted} - {"kinfolk", "tensorboard"}
    assert {name.lower() for name in names} <= {name.lower().replace("_", "-") for name in pinned}


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path):
    program = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(
        [program, "build", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
