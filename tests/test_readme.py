"""The README's code is run, not only read."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from kinfolk.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = blocks("python")
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})


def test_the_command_line_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("kinfolk ")]
    assert len(lines) >= 3
    for line in lines:
        _, *words = shlex.split(line, comments=True)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"


def test_the_make_targets_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    named = re.findall(r"(?:^|`)make ([a-z-]+)", README, flags=re.MULTILINE)
    assert named
    assert set(named) <= set(targets)


def test_linked_files_exist():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
