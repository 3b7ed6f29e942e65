"""One place that says how many threads faiss, numba, BLAS and torch may use, and that deals work to them.

Two ways to use several cores, never both at once:

one large product   the library's own threads share it: `share_threads` gives all pools the same size
many small ones     `deal`: each core gets its own, and every library one thread. The pools of numpy, torch and numba
                    would spend longer waiting for each other than working
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

Part = TypeVar("Part")
Result = TypeVar("Result")

_settings = threading.Lock()  # thread counts belong to the process: one at a time may change them


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

    numba.set_num_threads(min(thread_count(), numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    _torch_threads(thread_count())


def deal(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Return [work(part) for part in parts], dealt to `thread_count` workers; in each BLAS and torch have one thread.

    The parts, not the workers, decide what is computed together: the result has the same bits for any number of
    workers. Thread counts are as before afterwards, also after an exception, which is raised here; parts not begun
    are then left out.

    `work` runs beside itself: it must release the GIL where it is slow (numpy and torch do, numba with nogil=True),
    write to places of its own only, and call neither a parallel numba function nor `deal`. Settings of a thread, such
    as torch.inference_mode, are its own to make.

    >>> deal(lambda number: number**2, range(4))
    [0, 1, 4, 9]
    """
    with (
        _settings,
        threadpool_limits(1, user_api="blas"),
        one_torch_thread(),
        ThreadPoolExecutor(thread_count(), initializer=_one_thread_each) as workers,
    ):
        return list(workers.map(work, parts))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch work with one thread in this block, and as before afterwards.

    For steps of training so small that a second thread gains a third at best: where another program has its core, each
    product would wait for it, and a fit takes six times as long.

    >>> with one_torch_thread():
    ...     pass
    """
    torch = sys.modules.get("torch")  # where nobody has loaded it there is nothing to limit
    before = 1 if torch is None else torch.get_num_threads()
    try:
        _torch_threads(1)
        yield
    finally:
        _torch_threads(before)


def _one_thread_each() -> None:
    """Limit the worker that calls it: a BLAS on OpenMP counts the threads of each caller by itself."""
    threadpool_limits(1, user_api="blas")
    _torch_threads(1)


def _torch_threads(count: int) -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)
