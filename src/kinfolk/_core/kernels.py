"""Compiled kernels: how they are made, called on spans of rows by several threads, and given one type of array each.

A kernel releases the GIL, so calls on spans use every core as with numba's `parallel=True`, and it compiles in a third
of the time. numba compiles a kernel again for every new combination of dtype, layout and writability: `read_only`
gives arrays of callers the same one. Compiled code is kept on disk for later runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from itertools import pairwise
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import event
from numpy.typing import NDArray

from kinfolk._core.progress import stage
from kinfolk._core.threads import inside_worker, thread_count

SPANS_PER_THREAD = 4  # rows differ in cost: a thread that is done takes another span
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(**options: Any) -> Callable[[Function], Function]:
    """Compile a function on its first call, without the GIL, and keep the code on disk where there is a place for it.

    Parameters
    ----------
    options : of numba.njit, such as fastmath=True.

    Examples
    --------
    >>> @kernel()
    ... def total(values):
    ...     return values.sum()
    >>> total(np.arange(4))
    6
    """

    def compiled(function: Function) -> Function:
        try:
            dispatcher = numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no folder to write to: neither beside the module nor in the user's cache
            return numba.njit(nogil=True, **options)(function)
        dispatcher._cache = _KeptCode(dispatcher._cache)  # numba has no public place for it
        return dispatcher

    return compiled


class _KeptCode:
    """numba's code on disk, without its failures: code that cannot be read or written is compiled, and not kept."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return self._cache.load_overload(signature, context)
        except Exception:  # whatever unpickling a damaged file raises
            with suppress(OSError):
                self._cache.flush()
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        with suppress(OSError):  # a full disk, a right that was taken away
            self._cache.save_overload(signature, code)


class _Compiling(event.Listener):
    """Shows that a pause is compilation; numba triggers the event only where no code is on disk."""

    def __init__(self) -> None:
        self._open = threading.local()  # of each thread: kernels that kernels call are compiled inside

    def on_start(self, event: Any) -> None:
        stages = self._open.__dict__.setdefault("stages", [])
        shown = stage("compiling, once") if _is_ours(event) and not stages else nullcontext()
        shown.__enter__()
        stages.append(shown)

    def on_end(self, event: Any) -> None:
        self._open.stages.pop().__exit__(None, None, None)


def _is_ours(event: Any) -> bool:
    return event.data["dispatcher"].py_func.__module__.startswith("kinfolk.")


event.register("numba:compile", _Compiling())


def over_spans(kernel: Callable[[int, int], Result], n: int) -> list[Result]:
    """Return [kernel(first, last), ...] for consecutive spans first..last - 1 of n rows, computed on all cores.

    The kernel must release the GIL and write to its own rows only.

    >>> sum(over_spans(lambda first, last: last - first, 10))
    10
    """
    threads = thread_count()
    if threads == 1 or n < 2 or inside_worker():
        return [kernel(0, n)]
    cuts = np.linspace(0, n, min(n, SPANS_PER_THREAD * threads) + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as workers:
        return list(workers.map(lambda span: kernel(*span), pairwise(cuts)))


def read_only(values: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return row numbers as a contiguous int32 array that cannot be written to, copied only where they are not.

    >>> read_only(np.arange(4)[::2]).flags.writeable
    False
    """
    view = np.ascontiguousarray(values, dtype=np.int32).view()
    view.flags.writeable = False
    return view
