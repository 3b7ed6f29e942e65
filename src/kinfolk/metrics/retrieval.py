r"""Retrieval: how well each item finds the others of its class among all others.

rank_t: position of the t-th found of the P_i others of i's class, among all others by falling cosine similarity

AP(i)     = 1 / P_i  sum_t  t / rank_t           average precision; its mean over the items is mAP
RP(i)     = |{t : rank_t <= P_i}| / P_i          R-precision: precision where as many are taken as there are
INP(i)    = P_i / rank_{P_i}                     inverse negative penalty: where the last one is; its mean is mINP
CMC(r)    = share of the items i with rank_1 <= r

Means are over the items that have at least one other of their class.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict, Unpack

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.progress import progress
from kinfolk.features import Matrix, unit_rows
from kinfolk.metrics._labels import numbered

BLOCK_SIMILARITIES = 1 << 24
BINS = 2048


class Asking(TypedDict, total=False):
    """Who asks: `queries` (rows or a mask) or `n_queries` (that many, drawn with `seed`); everybody unless told."""

    queries: ArrayLike | None
    n_queries: int | None
    seed: int
    show_progress: bool


class QueryScores(NamedTuple):
    """The scores of each item that asked and has another of its class, and its class, numbered from 0: (q,) each."""

    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    average_precision: NDArray[np.float64]
    r_precision: NDArray[np.float64]
    inverse_penalty: NDArray[np.float64]
    first_rank: NDArray[np.float64]


class RetrievalReport(NamedTuple):
    """Every retrieval score; `cmc[r - 1]` is the share of queries with one of their class among the first r."""

    queries: int
    map: float
    r_precision: float
    minp: float
    cmc: NDArray[np.float64]


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
    return float(query_scores(X, labels, queries=queries, n_queries=n_queries, seed=seed).average_precision.mean())


def r_precision(X: Matrix, labels: ArrayLike, **asking: Unpack[Asking]) -> float:
    """Return the mean R-precision; arguments, ties and memory as in `mean_average_precision`.

    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> round(r_precision(X, [0, 0, 1, 1, 1]), 4)
    0.9
    """
    return float(query_scores(X, labels, **asking).r_precision.mean())


def mean_inverse_negative_penalty(X: Matrix, labels: ArrayLike, **asking: Unpack[Asking]) -> float:
    """Return mINP: 1 if no item has a stranger before the last of its class; arguments as `mean_average_precision`.

    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> round(mean_inverse_negative_penalty(X, [0, 0, 1, 1, 1]), 4)
    0.9
    """
    return float(query_scores(X, labels, **asking).inverse_penalty.mean())


def cmc(X: Matrix, labels: ArrayLike, top: int = 50, **asking: Unpack[Asking]) -> NDArray[np.float64]:
    """Return the cumulative matching characteristic at ranks 1 to `top`: (top,).

    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> cmc(X, [0, 1, 1, 1, 0], top=4)
    array([0.4, 0.6, 1. , 1. ])
    """
    return _cmc(query_scores(X, labels, **asking).first_rank, top)


def retrieval_report(X: Matrix, labels: ArrayLike, top: int = 50, **asking: Unpack[Asking]) -> RetrievalReport:
    """Return every retrieval score from one pass; arguments, ties and memory as in `mean_average_precision`.

    >>> import kinfolk as kf
    >>> digits = kf.datasets.digits()
    >>> report = retrieval_report(digits, digits.labels, n_queries=200)
    >>> round(report.map, 2), round(report.minp, 2), round(float(report.cmc[0]), 2)
    (0.65, 0.14, 1.0)
    """
    found = query_scores(X, labels, **asking)
    return RetrievalReport(
        queries=len(found.rows),
        map=float(found.average_precision.mean()),
        r_precision=float(found.r_precision.mean()),
        minp=float(found.inverse_penalty.mean()),
        cmc=_cmc(found.first_rank, top),
    )


def query_scores(
    X: Matrix,
    labels: ArrayLike,
    *,
    queries: ArrayLike | None = None,
    n_queries: int | None = None,
    seed: int = 0,
    show_progress: bool = False,
) -> QueryScores:
    """Return the scores of each query, for means of your own; arguments as in `mean_average_precision`.

    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> query_scores(X, [0, 0, 1, 1, 7]).first_rank
    array([1., 1., 1., 1.])
    """
    unit = unit_rows(X)
    classes = _classes(labels, len(unit))
    rows = _who_asks(len(unit), queries, n_queries, seed)
    order = np.argsort(classes, kind="stable")
    starts = np.concatenate([[0], np.bincount(classes).cumsum()])
    step = max(1, BLOCK_SIMILARITIES // len(unit))
    scores = np.full((len(rows), 4), np.nan)
    with progress("ranking", len(rows), show=show_progress) as advance:
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            _score_queries(unit[block] @ unit.T, block, classes, order, starts, scores[start : start + step])
            advance(len(block))
    scored = ~np.isnan(scores[:, 0])
    if not scored.any():
        raise InputError("retrieval scores need a class with at least two items, one of them asking")
    return QueryScores(rows[scored], classes[rows[scored]], *scores[scored].T)


def _who_asks(n: int, queries: ArrayLike | None, n_queries: int | None, seed: int) -> NDArray[np.int64]:
    asking = np.arange(n) if queries is None else _rows(np.asarray(queries), n)
    if n_queries is not None and n_queries < 1:
        raise InputError(f"n_queries must be 1 or more, not {n_queries}")
    if n_queries is not None and n_queries < len(asking):
        return np.sort(np.random.default_rng(seed).choice(asking, n_queries, replace=False))
    return asking


def _rows(queries: NDArray, n: int) -> NDArray[np.int64]:
    """Return row numbers from row numbers or a mask."""
    if queries.dtype == bool and queries.shape == (n,):
        return np.flatnonzero(queries)
    if not len(queries):
        return np.empty(0, dtype=np.int64)
    if queries.ndim != 1 or queries.dtype.kind not in "iu" or queries.min() < 0 or queries.max() >= n:
        raise InputError(f"queries must be row numbers from 0 to {n - 1}, or a mask of {n} rows")
    return queries.astype(np.int64)


def _classes(labels: ArrayLike, rows: int) -> NDArray[np.int64]:
    """Number the classes from 0; a row whose label is unknown is a class of its own."""
    classes = numbered(labels, rows)
    unknown = np.flatnonzero(classes < 0)
    classes[unknown] = classes.max() + 1 + np.arange(len(unknown))
    return classes


def _cmc(first_rank: NDArray[np.float64], top: int) -> NDArray[np.float64]:
    if top < 1:
        raise InputError(f"top must be 1 or more, not {top}")
    return np.searchsorted(np.sort(first_rank), np.arange(1, top + 1), side="right") / len(first_rank)


@nb.njit(parallel=True, cache=True)
def _score_queries(
    similarities: NDArray[np.float32],
    asking: NDArray[np.int64],
    classes: NDArray[np.int64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Write AP, RP, INP and the first rank of each query, nothing where its class has no other item: (queries, 4)."""
    for q in nb.prange(len(asking)):
        own, row = asking[q], similarities[q]
        row[own] = -np.inf  # nobody finds itself
        members = order[starts[classes[own]] : starts[classes[own] + 1]]
        kin = members[members != own]
        if len(kin) == 0:
            continue
        kin = kin[np.argsort(-row[kin], kind="mergesort")]  # members rise: equal similarities stay in row order
        between = _items_between(row, kin)
        rank, total, early = 0, 0.0, 0
        for t in range(len(kin)):
            rank += between[t]
            total += (t + 1) / rank
            early += rank <= len(kin)
        scores[q, 0] = total / len(kin)
        scores[q, 1] = early / len(kin)
        scores[q, 2] = len(kin) / rank
        scores[q, 3] = between[0]


@nb.njit(cache=True)
def _items_between(row: NDArray[np.float32], kin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the items after kin t - 1 up to and with kin t, best first: (kin,).

    Similarities from the lowest to the highest kin fall into bins. Most bins hold no kin, and then the bin alone tells
    between which kin an item lies; in the others a binary search does.
    """
    lowest = row[kin[-1]]
    span = row[kin[0]] - lowest
    scale = np.float32(BINS) / span if span > 1e-6 else np.float32(0)
    ahead = np.zeros(BINS + 2, dtype=np.int64)
    for member in kin:
        ahead[int((row[member] - lowest) * scale)] += 1
    better = 0
    for bin_ in range(BINS + 1, -1, -1):
        inside = ahead[bin_]
        ahead[bin_] = -1 - better if inside else better  # below zero: kin in this bin, look closer
        better += inside
    between = np.zeros(len(kin) + 1, dtype=np.int64)
    for item in range(len(row)):
        similarity = row[item]
        if similarity < lowest:
            continue
        place = ahead[min(int((similarity - lowest) * scale), BINS + 1)]
        if place < 0:
            place, high = -1 - place, len(kin)
            while place < high:
                middle = (place + high) // 2
                other = kin[middle]
                if row[other] > similarity or (row[other] == similarity and other < item):
                    place = middle + 1
                else:
                    high = middle
        between[place] += 1
    return between[:-1]
