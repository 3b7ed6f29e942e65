r"""Mean average precision: how well each item finds the others of its class.

AP(i) = 1 / P_i  sum_t  t / rank_t,     rank_t: position of the t-th of the P_i others of i's class among all others
mAP   = mean of AP over the items that have at least one other of their class
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk.errors import InputError
from kinfolk.features import Matrix, unit_rows

BLOCK_SIMILARITIES = 1 << 24


def mean_average_precision(
    X: Matrix, labels: ArrayLike, *, queries: ArrayLike | None = None, n_queries: int | None = None, seed: int = 0
) -> float:
    """Return the mean average precision of cosine similarity, exactly: every item against all others.

    `queries` (rows) or `n_queries` (that many, drawn with `seed`) restrict who asks; everybody can be found. Among
    equal similarities the lower row comes first.

    Memory: one float32 copy of X and a block of 64 MiB, never an n x n matrix.

    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> round(mean_average_precision(X, [0, 0, 1, 1, 1]), 4)
    0.9
    """
    unit = unit_rows(X)
    known = np.asarray(labels)
    if known.shape != (len(unit),):
        raise InputError(f"{len(unit)} rows need as many labels, not {known.shape}")
    classes = _classes(known)
    asking = np.arange(len(unit)) if queries is None else _rows(np.asarray(queries), len(unit))
    if n_queries is not None and n_queries < 1:
        raise InputError(f"n_queries must be 1 or more, not {n_queries}")
    if n_queries is not None and n_queries < len(asking):
        asking = np.sort(np.random.default_rng(seed).choice(asking, n_queries, replace=False))
    order = np.argsort(classes, kind="stable")
    starts = np.concatenate([[0], np.bincount(classes).cumsum()])
    step = max(1, BLOCK_SIMILARITIES // max(1, len(unit)))
    precisions = [
        _average_precisions(unit[asking[s : s + step]] @ unit.T, asking[s : s + step], classes, order, starts)
        for s in range(0, len(asking), step)
    ]
    scores = np.concatenate(precisions) if precisions else np.empty(0)
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        raise InputError("mean average precision needs a class with at least two items")
    return float(scores.mean())


def _rows(queries: NDArray, n: int) -> NDArray[np.int64]:
    """Return row numbers from row numbers or a mask."""
    if queries.dtype == bool and queries.shape == (n,):
        return np.flatnonzero(queries)
    if not len(queries):
        return np.empty(0, dtype=np.int64)
    if queries.ndim != 1 or queries.dtype.kind not in "iu" or queries.min() < 0 or queries.max() >= n:
        raise InputError(f"queries must be row numbers from 0 to {n - 1}, or a mask of {n} rows")
    return queries.astype(np.int64)


def _classes(labels: NDArray) -> NDArray[np.int64]:
    """Number the classes from 0; a label below zero is unknown, its row a class of its own."""
    classes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if labels.dtype.kind in "if":
        unknown = labels < 0
        classes[unknown] = len(labels) + np.arange(np.count_nonzero(unknown))
    return np.unique(classes, return_inverse=True)[1].astype(np.int64)


@nb.njit(parallel=True, cache=True)
def _average_precisions(
    similarities: NDArray[np.float32],
    asking: NDArray[np.int64],
    classes: NDArray[np.int64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the average precision of each query, NaN where its class has no other item: (queries,)."""
    result = np.full(len(asking), np.nan)
    for q in nb.prange(len(asking)):
        own, row = asking[q], similarities[q]
        members = order[starts[classes[own]] : starts[classes[own] + 1]]
        kin = members[members != own]
        if len(kin) == 0:
            continue
        kin = kin[np.argsort(-row[kin], kind="mergesort")]  # members rise: equal similarities stay in row order
        strangers_before = np.zeros(len(kin) + 1, dtype=np.int64)
        for item in range(len(row)):
            if classes[item] == classes[own]:
                continue
            low, high = 0, len(kin)
            while low < high:
                middle = (low + high) // 2
                other = kin[middle]
                if row[other] > row[item] or (row[other] == row[item] and other < item):
                    low = middle + 1
                else:
                    high = middle
            strangers_before[low] += 1
        total, strangers = 0.0, 0
        for t in range(len(kin)):
            strangers += strangers_before[t]
            total += (t + 1) / (t + 1 + strangers)
        result[q] = total / len(kin)
    return result
