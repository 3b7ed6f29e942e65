"""Run kinfolk and send it a signal at a step: python tools/trials/at_step.py STEP SIGNAL ARGUMENTS.

A step is a call that opens, makes, renames or removes something below the current folder. After an undisturbed run the
last line of standard error is how many there were.
"""

from __future__ import annotations

import os
import sys
from typing import Any

EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.chmod", "os.truncate")


class Steps:
    """Counts steps, and sends the signal at one of them."""

    def __init__(self, step: int, signal: int) -> None:
        """Count from now on; step 0 never comes."""
        self.count, self.step, self.signal = 0, step, signal
        self.place = os.getcwd()  # noqa: PTH109 (a text, as the events have)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at what Python is about to do."""
        if event in EVENTS and self._is_here(arguments[0]):
            self.count += 1
            if self.count == self.step:
                os.kill(os.getpid(), self.signal)

    def _is_here(self, path: Any) -> bool:
        if not isinstance(path, str | os.PathLike):
            return False
        name = os.fspath(path)
        return isinstance(name, str) and (name.startswith(self.place) or not os.path.isabs(name))  # noqa: PTH117


def main() -> None:
    """Run the command."""
    from kinfolk.cli import main as kinfolk

    steps = Steps(int(sys.argv[1]), int(sys.argv[2]))
    sys.argv = ["kinfolk", *sys.argv[3:]]
    sys.addaudithook(steps)
    try:
        kinfolk()
    finally:
        if steps.step == 0:
            print(f"\n{steps.count}", file=sys.stderr)


if __name__ == "__main__":
    main()
