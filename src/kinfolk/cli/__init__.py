"""The command line: one file a command, thin.

Exit codes: 0 done, 1 failed, 2 the input or the call is wrong, 130 interrupted, 143 ended by SIGTERM.
"""

from __future__ import annotations

import io
import os
import sys

import typer

from kinfolk._core.errors import KinfolkError
from kinfolk._core.text import printable
from kinfolk._core.version import __version__
from kinfolk.cli import (
    cluster,
    convert,
    demo,
    doctor,
    enhance,
    evaluate,
    generate,
    knn,
    options,
    report,
    reproduce,
    rerank,
    similarity,
    theory,
    train,
)
from kinfolk.cli._stopping import Stopping

app = typer.Typer(
    name="kinfolk",
    help="Find which embeddings belong together.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kinfolk {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


# in the order of the help; each module imports what its command needs only when it runs
for module in (
    demo,
    generate,
    knn,
    similarity,
    train,
    enhance,
    cluster,
    rerank,
    evaluate,
    reproduce,
    theory,
    report,
    convert,
    doctor,
):
    name = module.__name__.rsplit(".", 1)[-1]
    app.command(name)(options.command(options.choosing_columns(getattr(module, name))))


def _open_closed_streams() -> None:
    """Let nothing that is printed get into a file: after `>&-` the next file that is opened is standard output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 (open until the end; no path)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def main() -> None:
    """Run the command line; an error the user can correct is one sentence, without a traceback."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks is spelled, not fatal
    try:
        with Stopping():
            app()
    except KinfolkError as error:
        print(f"kinfolk: {printable(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except MemoryError as error:
        print(f"kinfolk: not enough memory: {printable(error) or 'ask for less'}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        about = f"{error.filename or 'a file'}: {error.strerror or error}"
        print(f"kinfolk: {printable(about)}", file=sys.stderr)
        sys.exit(1)
