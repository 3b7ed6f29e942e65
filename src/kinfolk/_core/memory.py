"""Memory of this process and of the machine."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from kinfolk._core.errors import InputError

GIB = 1 << 30
MOST_UNPACKED = 500  # times; vectors of which nine tenths are zeros shrink 20 times, equal ones 1,000 times
SMALL_ENOUGH = GIB // 4  # bytes that do no harm, whatever they are unpacked from
MEMINFO, STATUS = Path("/proc/meminfo"), Path("/proc/self/status")
CONTAINER = Path("/sys/fs/cgroup")  # control groups version 2: what a container sees of its own


def peak_memory_bytes() -> int:
    """Return the most memory this process has held so far.

    Linux: VmHWM of /proc, because ru_maxrss also counts what the parent held before it started this process.

    >>> peak_memory_bytes() > 0
    True
    """
    if STATUS.is_file():
        return _kib(STATUS, "VmHWM") * 1024
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, others KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def peak_memory_gib() -> float:
    """Return the peak memory of this process as the commands print it.

    >>> 0 < peak_memory_gib() < 1000
    True
    """
    return round(peak_memory_bytes() / GIB, 2)


def total_memory_gib() -> float:
    """Return the memory of the machine.

    >>> total_memory_gib() > 0
    True
    """
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB


def available_memory_gib() -> float | None:
    """Return the memory that new work can have without swapping; None where the system has no /proc (macOS).

    In a container, no more than what is left of its own limit.

    >>> available_memory_gib() is None or available_memory_gib() <= total_memory_gib()
    True
    """
    if not MEMINFO.is_file():
        return None
    free = _kib(MEMINFO, "MemAvailable") * 1024
    left = _left_of_container()
    return (free if left is None else min(free, left)) / GIB


def _left_of_container() -> int | None:
    """Return what is left of the limit of a control group, files that it may forget counted as free."""
    try:
        limit = (CONTAINER / "memory.max").read_text(encoding="utf-8").strip()
        used = int((CONTAINER / "memory.current").read_text(encoding="utf-8"))
        facts = dict(line.split() for line in (CONTAINER / "memory.stat").read_text(encoding="utf-8").splitlines())
        return None if limit == "max" else max(0, int(limit) - used + int(facts.get("inactive_file", 0)))
    except (OSError, ValueError):
        return None


def refuse_more_than_memory(needed: int, what: str, packed: int | None = None) -> None:
    """Raise InputError if `needed` bytes are more than the memory that is free: before they are allocated.

    packed: the bytes they are unpacked from; far more than real features unpack to is refused as well.

    >>> refuse_more_than_memory(1 << 60, "features of a.npz")
    Traceback (most recent call last):
    kinfolk.InputError: features of a.npz would take 1,073,741,824.0 GiB of memory, but only ... GiB are free
    >>> refuse_more_than_memory(1 << 30, "features of a.npz", packed=1 << 20)
    Traceback (most recent call last):
    kinfolk.InputError: features of a.npz would take 1.0 GiB of memory, unpacked from 1.0 MiB: no real vectors are ...
    """
    if packed is not None and needed > max(SMALL_ENOUGH, MOST_UNPACKED * packed):
        raise InputError(
            f"{what} would take {needed / GIB:,.1f} GiB of memory, unpacked from {packed / (1 << 20):.1f} MiB: "
            "no real vectors are that much alike; if they are meant, save them uncompressed"
        )
    free = available_memory_gib()
    most = total_memory_gib() if free is None else free
    if needed > most * GIB:
        raise InputError(f"{what} would take {needed / GIB:,.1f} GiB of memory, but only {most:,.1f} GiB are free")


def _kib(file: Path, field: str) -> int:
    """Return the number of a line such as "VmHWM:  1234 kB"."""
    lines = dict(line.split(":", maxsplit=1) for line in file.read_text(encoding="utf-8").splitlines())
    return int(lines[field].split()[0])
