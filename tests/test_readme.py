"""The README's code is run, not only read."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = blocks("python")
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})


def test_the_command_line_example_runs(tmp_path):
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("kinfolk ")]
    assert len(lines) >= 3
    program = str(Path(sys.executable).with_name("kinfolk"))
    for line in lines:
        words = shlex.split(line, comments=True)
        done = subprocess.run([program, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
