"""faiss with the BLAS kernels of this processor: `from kinfolk._core.faiss import faiss`.

The wheel of faiss contains an OpenBLAS of 2021. On a processor newer than that it falls back to kernels of 2004, and
exact search is several times slower. The OpenBLAS of numpy is newer: the processor that it detected is passed to the
one of faiss, in an environment variable, while faiss is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np  # noqa: F401  loads the OpenBLAS that detects the processor
from threadpoolctl import threadpool_info

__all__ = ["faiss"]

# processor as numpy's OpenBLAS names it -> the closest one that the OpenBLAS of faiss has kernels for
KNOWN = {name: name for name in ("Haswell", "Zen", "SkylakeX")} | dict.fromkeys(
    ("Cooperlake", "SapphireRapids"), "SkylakeX"
)
VARIABLE = "OPENBLAS_CORETYPE"  # an OpenBLAS reads it once, when it is loaded


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
