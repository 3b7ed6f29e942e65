"""Ctrl-C, SIGTERM and SIGHUP end a command, with its temporary files removed and the exit code 128 + the signal.

A handler of Python runs only between two steps of Python, and its exception can get lost: compiled code makes a
SystemError of it, a finaliser drops it. So whatever ends the command after a signal counts as its doing, and a thread
watches: where the command goes on for some seconds, or the signal is sent again, it cleans up and ends the process.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import NoReturn

from kinfolk._core.outputs import release_all

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 3.0  # seconds: long enough to save a checkpoint, short enough for a person who waits
AGAIN = 1.0  # seconds: `timeout` and terminals send the same signal twice within a moment
END = b"\0"  # where the number of a signal would be: the block has ended
SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it
SENTENCE = (
    "kinfolk: {what}; run again, knn, reproduce and train --checkpoint-dir continue, and other commands begin anew"
)


class Stopped(BaseException):
    """A signal, as an exception that typer does not catch, nor anything that catches errors."""


class Stopping:
    """Signals end the block; a signal that is ignored already, as by nohup, stays ignored.

    >>> with Stopping() as stopping:
    ...     stopping.number is None
    True
    """

    number: int | None = None  # of the signal that came first

    def __enter__(self) -> Stopping:
        self._signals, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._woken_before = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._stop) for number in heard}
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        self._watcher = threading.Thread(target=self._watch, name="kinfolk-signals", daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.number is not None:
            release_all()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken_before)
        sys.unraisablehook = self._hook
        os.write(self._wake, END)
        self._watcher.join()
        os.close(self._wake)
        os.close(self._signals)
        if self.number is not None:
            print(_sentence(self.number), file=sys.stderr)
            raise SystemExit(128 + self.number) from None

    def _stop(self, number: int, _: FrameType | None) -> None:
        if self.number is None:
            self.number = number
            raise Stopped

    def _unraisable(self, lost: sys.UnraisableHookArgs) -> None:
        """Say nothing of a signal that came inside a callback of compiled code: the watcher ends the command."""
        if lost.exc_type is not Stopped:
            self._hook(lost)

    def _watch(self) -> None:
        came = os.read(self._signals, 1)
        if came != END and self._goes_on(time.monotonic()):
            release_all()
            _end_now(came[0])

    def _goes_on(self, since: float) -> bool:
        """Return True when the grace is over or the signal has come again, False when the block has ended."""
        while (left := since + GRACE - time.monotonic()) > 0:
            if not select.select([self._signals], [], [], left)[0]:
                return True
            if os.read(self._signals, 1) == END:
                return False
            if time.monotonic() > since + AGAIN:
                return True
        return True


def _sentence(number: int) -> str:
    """Return what is said at the end.

    >>> _sentence(15)[:36]
    'kinfolk: ended by SIGTERM; run again'
    """
    what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    return SENTENCE.format(what=what)


def _end_now(number: int) -> NoReturn:
    """End the process without its other threads, which may be inside compiled code."""
    show_cursor = SHOW_CURSOR if os.isatty(2) else ""
    try:
        os.write(2, f"{show_cursor}{_sentence(number)}\n".encode())
    finally:
        os._exit(128 + number)
