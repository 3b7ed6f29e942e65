"""Signals: the exit code, one sentence, and nothing left behind, whatever is running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli._stopping import Stopped, Stopping

# a clustering that says when it has begun, and then never ends
ENDLESS = """
import sys
import numba
from kinfolk._core.files import replacing
from kinfolk._core.kernels import over_spans
from kinfolk.cli import _stopping, main
from kinfolk.cluster.hac import HAC

@numba.njit(nogil=True)
def spin(first, last):
    number = first
    while number >= 0:
        number = (number + last) % 1000
    return number

def in_callback():
    import ctypes, signal
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
    spin(0, 1)

def work(*_):
    spin(-1, 0)  # compiled now
    with replacing(sys.argv[-1] + ".beside.txt") as temporary:
        temporary.write_text("half")
        print("working", flush=True)
        WORK

_stopping.GRACE = SECONDS
HAC._cluster = work
main()
"""


@pytest.fixture
def features(tmp_path: Path) -> Path:
    kf.FeatureSet(np.random.default_rng(0).standard_normal((60, 8))).save(tmp_path / "x.npz")
    return tmp_path / "x.npz"


def stopped(features: Path, work: str, number: int = signal.SIGINT, grace: int = 60) -> tuple[int, str, list[str]]:
    """Send a signal to a command inside some work; return its exit code, its errors and the files beside the input."""
    script = ENDLESS.replace("WORK", work).replace("SECONDS", str(grace))
    command = [sys.executable, "-c", script, "cluster", str(features), "-m", "hac", "-o", "new/c.csv"]
    process = subprocess.Popen(
        command,
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        cwd=features.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(number)
    errors = process.communicate()[1]
    return process.returncode, errors, sorted(p.name for p in features.parent.rglob("*"))


@pytest.mark.parametrize(
    "work",
    [
        "spin(0, 1)",
        "over_spans(spin, 8)",
        "in_callback()",
        "exec('while True:\\n try: spin(0, 1)\\n except BaseException: pass')",
    ],
    ids=["compiled code", "threads of compiled code", "a callback", "code that drops every exception"],
)
def test_a_signal_ends_work_that_does_not_hear_it_and_nothing_is_left(features: Path, work: str) -> None:
    code, errors, left = stopped(features, work, grace=0)
    assert code == 130
    assert errors.startswith("kinfolk: interrupted; ")
    assert "other commands begin anew" in errors  # a clustering keeps nothing to continue with
    assert len(errors.splitlines()) == 1
    assert left == ["x.npz"]


@pytest.mark.parametrize(
    ("number", "code", "what"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
def test_every_signal_has_its_exit_code_and_nothing_is_left(features: Path, number: int, code: int, what: str) -> None:
    found, errors, left = stopped(features, "while True: pass", number)
    assert (found, left) == (code, ["x.npz"])
    assert errors.startswith(f"kinfolk: {what}; ")


def test_an_exception_that_compiled_code_made_of_the_signal_counts_as_it(kinfolk, features, tmp_path, monkeypatch):
    from kinfolk.cluster.hac import HAC

    def broken(*_: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException as error:
            raise SystemError("returned a result with an exception set") from error

    monkeypatch.setattr(HAC, "_cluster", broken)
    code, out, err = kinfolk("cluster", features, "-m", "hac", "-o", tmp_path / "c.csv")
    assert (code, out) == (130, "")
    assert err.startswith("kinfolk: interrupted")
    assert [p.name for p in tmp_path.iterdir()] == ["x.npz"]


def test_handlers_are_as_before_afterwards_and_a_second_signal_does_not_disturb_the_first() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with pytest.raises(SystemExit) as end, Stopping():
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert end.value.code == 143
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stopping() as stopping:
            signal.raise_signal(signal.SIGHUP)
        assert stopping.number is None
    finally:
        signal.signal(signal.SIGHUP, before)
