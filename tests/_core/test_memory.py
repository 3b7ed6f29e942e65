from __future__ import annotations

import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kinfolk._core import memory
from kinfolk._core.errors import InputError
from kinfolk._core.memory import available_memory_gib, peak_memory_gib, refuse_more_than_memory, total_memory_gib

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


def test_what_does_not_fit_is_refused_before_it_is_allocated(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemAvailable:    3145728 kB\n")
    refuse_more_than_memory(3 << 30, "it")
    with pytest.raises(InputError, match=r"it would take 4.0 GiB of memory, but only 3.0 GiB are free"):
        refuse_more_than_memory(4 << 30, "it")


def test_what_is_unpacked_from_next_to_nothing_is_refused_though_it_fits(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemAvailable:    30145728 kB\n")
    refuse_more_than_memory(1 << 30, "it", packed=(1 << 30) // 500 + 1)
    refuse_more_than_memory(1 << 28, "it", packed=1)
    with pytest.raises(InputError, match=r"it would take 1.5 GiB of memory, unpacked from 1.5 MiB"):
        refuse_more_than_memory(3 << 29, "it", packed=3 << 19)


def test_without_proc_the_memory_of_the_machine_is_the_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    with pytest.raises(InputError, match="would take"):
        refuse_more_than_memory(round(total_memory_gib() + 1) << 30, "it")


@pytest.mark.parametrize(("limit", "expected"), [("max", 8.0), (str(4 << 30), 3.0), (str(64 << 30), 8.0), ("?", 8.0)])
def test_the_limit_of_a_container(monkeypatch, tmp_path, limit, expected):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
    (tmp_path / "meminfo").write_text(f"MemAvailable:  {8 << 20} kB\n")
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{2 << 30}\n")
    (tmp_path / "memory.stat").write_text(f"anon 5\ninactive_file {1 << 30}\n")
    assert available_memory_gib() == expected
