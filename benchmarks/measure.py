"""Time and memory of a function in a process of its own."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import psutil


class Measured(NamedTuple):
    seconds: float
    gib: float  # the most memory held, beyond what imports and inputs took
    result: Any


def measure(function: Callable[..., Callable[[], Any]], *arguments: Any) -> Measured:
    """Call `function(*arguments)` in a fresh process: it prepares and returns the work that is timed."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, function, arguments))
    process.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__}{arguments} died") from None
    finally:
        process.join()


def _child(send: Any, function: Callable[..., Callable[[], Any]], arguments: tuple) -> None:
    work = function(*arguments)
    before = psutil.Process().memory_info().rss
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    send.send(Measured(seconds, max(0, peak - before) / (1 << 30), result))
