"""faiss, told which processor it runs on: `from kinfolk._core.faiss import faiss`.

The wheel of faiss brings an OpenBLAS of 2021. A processor it does not know, Intel's of today among them, it takes for
one of 2004, and exact search is several times slower. numpy's own OpenBLAS is newer: what it found is passed on while
faiss is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np  # noqa: F401  its OpenBLAS is asked
from threadpoolctl import threadpool_info

__all__ = ["faiss"]

KNOWN = {name: name for name in ("Haswell", "Zen", "SkylakeX")} | dict.fromkeys(
    ("Cooperlake", "SapphireRapids"), "SkylakeX"
)
VARIABLE = "OPENBLAS_CORETYPE"  # read when an OpenBLAS is loaded, never again


@contextmanager
def _processor_named() -> Iterator[None]:
    found = [library.get("architecture") for library in threadpool_info() if library["internal_api"] == "openblas"]
    name = KNOWN.get(found[0] or "") if found else None
    if name is None or VARIABLE in os.environ:
        yield
        return
    os.environ[VARIABLE] = name
    try:
        yield
    finally:
        del os.environ[VARIABLE]


with _processor_named():
    import faiss
