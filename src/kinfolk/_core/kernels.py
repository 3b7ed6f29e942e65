"""How compiled kernels are called: on spans of rows by several threads, and with one type of array each.

A kernel that releases the GIL (`nogil=True`) and is called on spans uses every core, as with `parallel=True`, and
compiles in a third of the time. numba compiles a kernel again for every new combination of dtype, layout and
writability: `read_only` gives arrays of callers the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.threads import inside_worker, thread_count

SPANS_PER_THREAD = 4  # rows differ in cost: a thread that is done takes another span
Result = TypeVar("Result")


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
