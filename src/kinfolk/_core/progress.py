"""What is going on: the stage's name with a bar on a terminal, and lines of the log for those who ask for them.

All stages of a process share one display on standard error, so that they nest: a line each, the outermost first. Where
standard error is no terminal nothing is drawn. Beginning and end of each stage go to the logger `kinfolk.stages`.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from kinfolk._core.text import printable

log = logging.getLogger("kinfolk.stages")


class Advance(Protocol):
    """What `progress` yields: called with the number of steps done, and with a new text where it changes."""

    def __call__(self, steps: int = 1, text: str | None = None) -> None: ...


@contextmanager
def progress(text: str, total: int | None, show: bool = True) -> Iterator[Advance]:
    """Show a bar with the time left on standard error while the block runs; without a total only the time taken.

    >>> with progress("counting", total=3) as advance:
    ...     for _ in range(3):
    ...         advance()
    """
    start = time.perf_counter()
    log.info("%s", printable(text))
    if show and sys.stderr.isatty():
        with _display.line(text, total) as advance:
            yield advance
    else:
        yield lambda steps=1, text=None: None
    log.info("%s: %.2f s", printable(text), time.perf_counter() - start)


@contextmanager
def stage(text: str, show: bool = True) -> Iterator[None]:
    """Show what is done while the block runs, where nobody knows how long it takes.

    >>> with stage("reading"):
    ...     pass
    """
    with progress(text, None, show):
        yield


def clear() -> None:
    """Take the display off the terminal before something is printed; the next stage shows it again."""
    _display.clear()


@contextmanager
def log_lines(show: bool = True) -> Iterator[None]:
    """Write the log of kinfolk to standard error during the block, unless `show` is False.

    >>> with log_lines(False), stage("reading"):
    ...     pass
    """
    logger = logging.getLogger("kinfolk")
    if not show or any(isinstance(handler, _Lines) for handler in logger.handlers):
        yield
        return
    handler, level = _Lines(logging.INFO), logger.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(min(level, logging.INFO) if level else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Lines(logging.Handler):
    """Lines of the log on standard error as it is now, above the display."""

    def emit(self, record: logging.LogRecord) -> None:
        _display.clear()
        print(printable(self.format(record)), file=sys.stderr, flush=True)


class _WhereCounted(ProgressColumn):
    """A column for tasks whose number of steps is known."""

    def __init__(self, column: ProgressColumn) -> None:
        self.column = column
        super().__init__()

    def render(self, task: Task) -> RenderableType:
        return "" if task.total is None else self.column(task)


class _Display:
    """The lines of all stages that run; none is drawn while there is no stage."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bars: Progress | None = None
        self._running = 0

    @contextmanager
    def line(self, text: str, total: int | None) -> Iterator[Advance]:
        with self._lock:
            if self._bars is None:
                self._bars = _new_bars()
            bars, task = self._bars, self._bars.add_task(printable(text), total=total)
            self._running += 1
            bars.start()
        try:
            yield lambda steps=1, text=None: _update(bars, task, steps, text)
        finally:
            with self._lock:
                self._running -= 1
                if self._running:
                    bars.remove_task(task)
                else:
                    bars.stop()
                    self._bars = None

    def clear(self) -> None:
        with self._lock:
            if self._bars is not None:
                self._bars.stop()


def _new_bars() -> Progress:
    counted = (BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn())
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        *map(_WhereCounted, counted),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # what is printed meanwhile may go to a file
        redirect_stderr=False,
    )


def _update(bars: Progress, task: TaskID, steps: int, text: str | None) -> None:
    bars.update(task, advance=steps, description=None if text is None else printable(text))


_display = _Display()
