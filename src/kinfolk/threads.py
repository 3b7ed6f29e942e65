"""One place that says how many threads faiss, numba, BLAS and torch may use."""

from __future__ import annotations

import os


def thread_count() -> int:
    """Return the number of threads to use: OMP_NUM_THREADS where it is set, else the cores this process may run on.

    >>> thread_count() >= 1
    True
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(int(asked), cores) if asked.isdigit() and int(asked) > 0 else cores


def share_threads() -> None:
    """Tell torch and numba to use no more than `thread_count`: two pools of different sizes slow each other down.

    >>> share_threads()
    """
    import numba
    import torch

    numba.set_num_threads(min(thread_count(), numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    torch.set_num_threads(thread_count())
