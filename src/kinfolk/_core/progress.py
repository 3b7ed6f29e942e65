"""Progress bars on a terminal, nothing elsewhere.

rich draws the bar; this wrapper stays because it decides once for all callers where bars go (standard error, only on a
terminal) and which columns they have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Advance(Protocol):
    """What `progress` yields: called with the number of steps done, and with a new text where it changes."""

    def __call__(self, steps: int = 1, text: str | None = None) -> None: ...


@contextmanager
def progress(text: str, total: int, show: bool = True) -> Iterator[Advance]:
    """Show a bar with the time left on standard error while the block runs.

    >>> with progress("counting", total=3) as advance:
    ...     for _ in range(3):
    ...         advance()
    """
    if not (show and sys.stderr.isatty()):
        yield lambda steps=1, text=None: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps=1, text=None: bar.update(task, advance=steps, description=text)
