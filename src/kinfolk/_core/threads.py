"""How many threads faiss, BLAS and torch use, and work distributed over threads.

Two ways to use several cores, never both at once:

one large product     the library's own threads share it: `share_threads` gives all pools the same size
many small products   `deal`: each worker computes its own, and every library uses one thread. The pools of numpy and
                      torch would spend longer waiting for each other than computing
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

_worker = threading.local()  # marks the threads of `deal`: a call inside one of them works alone
_settings = threading.Lock()  # thread counts are global to the process: one caller at a time changes them


def thread_count() -> int:
    """Return the number of threads to use: OMP_NUM_THREADS where it is set, else the cores this process may run on.

    >>> thread_count() >= 1
    True
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(int(asked), cores) if asked.isdigit() and int(asked) > 0 else cores


def share_threads() -> None:
    """Limit torch, where it is loaded, to `thread_count`: two pools of different sizes slow each other down.

    >>> share_threads()
    """
    _torch_threads(thread_count())


def deal(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Return [work(part) for part in parts], computed by `thread_count` workers with one BLAS and torch thread each.

    The parts, not the workers, decide what is computed together: the result has the same bits for any number of
    workers. Afterwards the thread counts are as before. An exception of `work` is raised here; parts that were not
    begun are then skipped.

    `work` runs in several threads at once: it must release the GIL where it is slow (numpy and torch do, numba with
    nogil=True), and must not write to shared memory that another part writes to. A `deal` inside `work` computes its
    parts one after the other. Settings of a thread, such as torch.inference_mode, must be made inside `work`.

    >>> deal(lambda number: number**2, range(4))
    [0, 1, 4, 9]
    """
    if inside_worker():
        return [work(part) for part in parts]
    with (
        _settings,
        threadpool_limits(1, user_api="blas"),
        one_torch_thread(),
        ThreadPoolExecutor(thread_count(), initializer=_one_thread_each) as workers,
    ):
        return list(workers.map(work, parts))


def inside_worker() -> bool:
    """Tell whether the caller is a worker of `deal`: the cores are then in use already.

    >>> inside_worker(), deal(lambda _: inside_worker(), [0])
    (False, [True])
    """
    return getattr(_worker, "inside", False)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread in this block, and restore its thread count afterwards.

    For training steps so small that a second thread saves a third at best. Where another program uses the second core,
    each product waits for that thread, and a fit takes six times as long.

    >>> with one_torch_thread():
    ...     pass
    """
    torch = sys.modules.get("torch")  # None: not imported, nothing to limit
    before = 1 if torch is None else torch.get_num_threads()
    try:
        _torch_threads(1)
        yield
    finally:
        _torch_threads(before)


def _one_thread_each() -> None:
    """Limit the calling thread: a BLAS on OpenMP has a thread count for each of its callers."""
    _worker.inside = True
    threadpool_limits(1, user_api="blas")
    _torch_threads(1)


def _torch_threads(count: int) -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(count)
