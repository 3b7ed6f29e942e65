"""Options that several commands share, and their output."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from kinfolk.features import FeatureSet

Input = Annotated[Path, typer.Argument(metavar="INPUT", help="Feature file or folder; see docs/formats.md.")]
Part = Annotated[str | None, typer.Option(help="Use only this part of the set, such as train or test.")]
Labels = Annotated[Path | None, typer.Option(help="Label file (.npy, .txt, .meta), if not beside the features.")]
Dim = Annotated[int | None, typer.Option(help="Dimensions of a raw .bin file (default: 256).")]
Force = Annotated[bool, typer.Option("--force", help="Replace what exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]

_outputs: ContextVar[ExitStack] = ContextVar("outputs")  # of the command that runs


def read(path: Path, part: str | None, labels: Path | None, dim: int | None) -> FeatureSet:
    """Load a feature set the way every command does."""
    from kinfolk.formats import load

    return load(path, labels=labels, dim=dim, part=part)


def holding_outputs(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command keep its outputs locked until it ends; typer itself has no public place for that."""

    @functools.wraps(command)
    def run(*arguments: Any, **named: Any) -> None:
        with ExitStack() as stack:
            _outputs.set(stack)
            command(*arguments, **named)

    return run


def output(
    path: Path | None, force: bool, kind: str | None = None, inputs: Iterable[str | os.PathLike[str] | None] = ()
) -> None:
    """Check an output before the work, and keep it locked until the command ends; see `kinfolk._core.outputs.claim`."""
    from kinfolk._core.outputs import claim

    if path is not None:
        _outputs.get().enter_context(claim(path, force=force, kind=kind, inputs=inputs))


def feature_kind(path: Path) -> str | None:
    """Return the kind of folder that features under this name are, None for a file; unknown suffixes are refused.

    >>> feature_kind(Path("photos.npz")), feature_kind(Path("photos.kf"))
    (None, 'features')
    """
    from kinfolk.formats import format_for

    return format_for(path).folder_kind


def console(width: int = 100) -> Console:
    """Return standard output for a person: as wide as the terminal, or `width` characters in a file."""
    return Console(width=None if os.isatty(1) else width, highlight=False)


def print_facts(facts: Mapping[str, Any], as_json: bool) -> None:
    """Print facts as aligned lines, or as one JSON object."""
    if as_json:
        typer.echo(json.dumps(facts, default=str))
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        typer.echo(f"{name.replace('_', ' '):<{width}}  {value}")


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Measure the seconds of a block."""
    start = time.perf_counter()
    facts: dict[str, float] = {}
    yield facts
    facts["seconds"] = round(time.perf_counter() - start, 2)
