"""What the tests of the command line share."""

import sys

import pytest

from kinfolk.cli import main


@pytest.fixture
def kinfolk(monkeypatch, capfd):
    """Run a command in this process; give its exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kinfolk", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capfd.readouterr()
        return stop.value.code or 0, out, err

    return run
