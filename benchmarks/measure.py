"""Time and memory of a function in a process of its own."""

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from kinfolk._core.memory import peak_memory_bytes


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
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak is counted from here on
    before = psutil.Process().memory_info().rss
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    send.send(Measured(seconds, max(0, peak_memory_bytes() - before) / (1 << 30), result))
