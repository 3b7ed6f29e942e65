"""The ranking of a gallery by cosine, before any re-ranking."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.features import Matrix, unit_rows

SORTED_AT_ONCE = 1 << 22  # similarities of a block: 16 MiB, and 32 for their order


def cosine_ranking(query: Matrix, gallery: Matrix) -> Iterator[NDArray[np.int64]]:
    """Yield the whole gallery in the order of falling cosine, block after block of queries.

    Parameters
    ----------
    query : (nq, d) features.
    gallery : (ng, d) features.

    Returns
    -------
    Iterator of (queries, ng) gallery rows, best first, for `reid`. Among equal similarities the lower row comes first.
    Memory: a block of 16 MiB and its sort, never nq x ng.

    Examples
    --------
    >>> list(cosine_ranking(np.array([[1.0, 0.1]]), np.array([[0, 1.0], [1, 0]])))
    [array([[1, 0]])]
    """
    queries, items = unit_rows(query), unit_rows(gallery)
    if queries.shape[1] != items.shape[1]:
        raise InputError(f"queries have {queries.shape[1]} dimensions, the gallery has {items.shape[1]}")
    step = max(1, SORTED_AT_ONCE // len(items))
    for start in range(0, len(queries), step):
        yield np.argsort(-(queries[start : start + step] @ items.T), axis=1, kind="stable")
