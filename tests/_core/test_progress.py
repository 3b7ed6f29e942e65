from __future__ import annotations

import io
import sys

import pytest

from kinfolk._core.progress import clear, log_lines, progress, stage


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


def test_stages_share_one_display_and_nest(monkeypatch, terminal):
    monkeypatch.setattr(sys, "stderr", terminal)
    with stage("[red]cluster[/]\x1b]0;"), progress("neighbours", total=2) as advance:
        advance(2)
        clear()
        shown = terminal.getvalue()
    assert "[red]cluster[/]\\x1b]0;" in shown and "neighbours" in shown and "2/2" in shown
    assert "0/None" not in shown and "?" not in shown.replace("[?25", "")  # no count where none is known
    with stage("later"):
        pass
    assert "later" in terminal.getvalue()


def test_standard_output_is_left_alone_meanwhile(monkeypatch, terminal, capsys):
    monkeypatch.setattr(sys, "stderr", terminal)
    with stage("reading"):
        print("a result")
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in terminal.getvalue()


def test_the_log_has_begin_and_end_of_a_stage(caplog):
    with caplog.at_level("INFO", "kinfolk"), stage("reading"):
        assert caplog.messages == ["reading"]
    assert caplog.messages[1].startswith("reading: 0.")


def test_lines_of_the_log_only_where_asked_for(capsys):
    with log_lines(False), stage("reading"):
        pass
    with log_lines(), log_lines(), stage("writing"):
        pass
    with stage("reading"):
        pass
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ", 1)[1][:24] for line in lines] == ["kinfolk.stages: writing", "kinfolk.stages: writing:"]
