from __future__ import annotations

import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kinfolk._core import memory
from kinfolk._core.memory import available_memory_gib, peak_memory_gib, total_memory_gib

HOLD = """
import numpy as np
from kinfolk._core.memory import peak_memory_bytes
before = peak_memory_bytes()
np.ones(3 << 26, dtype=np.uint8)  # given back at once
print((peak_memory_bytes() - before) / 2**30)
"""


def test_the_peak_counts_memory_that_was_given_back():
    done = subprocess.run([sys.executable, "-c", HOLD], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(3 / 16, abs=0.05)


@pytest.mark.parametrize(("platform", "counted"), [("linux", 3 << 20), ("darwin", 3 << 30)])
def test_the_unit_of_the_platform_without_proc(monkeypatch, tmp_path, platform, counted):
    monkeypatch.setattr(memory, "STATUS", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=counted))
    assert peak_memory_gib() == 3


def test_a_machine_without_proc(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    assert available_memory_gib() is None
    (tmp_path / "meminfo").write_text("MemTotal:  9 kB\nMemAvailable:    3145728 kB\n")
    assert available_memory_gib() == 3
    assert total_memory_gib() > 0
