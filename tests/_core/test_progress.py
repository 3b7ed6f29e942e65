from __future__ import annotations

import io
import sys

import pytest

from kinfolk._core.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Standard error as a terminal, which keeps what is written to it."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return Terminal()


def three_steps(monkeypatch, stderr, **options):
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress("counting", total=3, **options) as advance:
        for _ in range(3):
            advance()
        advance(0, text="nearly done")


def test_nothing_without_a_terminal(monkeypatch, capsys):
    file = io.StringIO()
    three_steps(monkeypatch, file)
    assert file.getvalue() == capsys.readouterr().out == ""


def test_a_bar_on_standard_error_of_a_terminal(monkeypatch, terminal, capsys):
    three_steps(monkeypatch, terminal)
    assert "nearly done" in terminal.getvalue() and "3/3" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_a_bar_can_be_switched_off(monkeypatch, terminal):
    three_steps(monkeypatch, terminal, show=False)
    assert terminal.getvalue() == ""


def test_an_error_passes_through(monkeypatch, terminal):
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(ZeroDivisionError), progress("counting", total=3):
        raise ZeroDivisionError
