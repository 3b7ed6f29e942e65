"""Memory of this process and of the machine."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

GIB = 1 << 30
MEMINFO = Path("/proc/meminfo")


def peak_memory_gib() -> float:
    """Return the most memory this process has held so far.

    >>> 0 < peak_memory_gib() < 1000
    True
    """
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / GIB, 2)


def total_memory_gib() -> float:
    """Return the memory of the machine.

    >>> total_memory_gib() > 0
    True
    """
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB


def available_memory_gib() -> float | None:
    """Return the memory that new work can have without swapping; None where the system has no /proc (macOS).

    >>> available_memory_gib() is None or available_memory_gib() <= total_memory_gib()
    True
    """
    if not MEMINFO.is_file():
        return None
    lines = dict(line.split(":", maxsplit=1) for line in MEMINFO.read_text(encoding="ascii").splitlines())
    return int(lines["MemAvailable"].split()[0]) * 1024 / GIB
