"""Write docs/cli.md, the reference of the command line, from the commands themselves.

python tools/make_cli_reference.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from typer.main import get_command

from kinfolk.cli import app

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """# Command line

<!-- written by tools/make_cli_reference.py (make docs) -->

Every command has `--help` with an example and `--json` for machines. Exit codes: 0 done, 1 failed (a full disk, say),
2 the input or the call is wrong, 130 interrupted. Nothing is replaced without `--force`.
"""


def reference() -> str:
    """Return the page."""
    commands: dict[str, Any] = get_command(app).commands
    return "\n".join([HEAD, *(_command(name, command) for name, command in commands.items())])


def _command(name: str, command: Any) -> str:
    rows = [f"| {_names(given)} | {_default(given)} | {_cell(given.help or '')} |" for given in command.params]
    head = ["| argument or option | default | meaning |", "|---|---|---|"]
    return "\n".join([f"## kinfolk {name}\n", _text(command.help or ""), "", *head, *rows, ""])


def _text(help_text: str) -> str:
    """Turn the help of a command into Markdown: its example becomes a block of code."""
    text = inspect.cleandoc(help_text)
    return re.sub(r"\[bold\]Example:\[/bold\] +(.*)", r"```bash\n\1\n```", text)


def _cell(help_text: str) -> str:
    return " ".join(help_text.split()).replace("|", r"\|").replace("<", r"\<")


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{word}`" for word in [*parameter.opts, *parameter.secondary_opts])


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "" if parameter.default is None or parameter.default is False else f"`{parameter.default}`"


if __name__ == "__main__":
    PAGE.write_text(reference())
