r"""Retrieval: how early the others of its class come in the ranking of each item.

rank_t: position of the t-th found of the P_i others of i's class, among all others by falling cosine similarity

AP(i)     = 1 / P_i  sum_t  t / rank_t           average precision; its mean over the items is mAP
RP(i)     = |{t : rank_t <= P_i}| / P_i          R-precision: precision where as many are taken as there are
INP(i)    = P_i / rank_{P_i}                     inverse negative penalty: where the last one is; its mean is mINP
CMC(r)    = share of the items i with rank_1 <= r

Means are over the items that have at least one other of their class.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.checks import check_seed, check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk._core.progress import progress
from kinfolk._core.threads import deal
from kinfolk.features import Matrix, unit_rows
from kinfolk.metrics._labels import numbered

BLOCK_SIMILARITIES = 1 << 23  # of one thread: 32 MiB
BINS = 2048  # between the similarities of the last and the first item of a class: most hold none


class QueryOptions(TypedDict, total=False):
    """Which rows are queries: `queries` (rows or a mask), or `n_queries` drawn with `seed`; all rows by default."""

    queries: ArrayLike | None
    n_queries: int | None
    seed: int
    show_progress: bool


class QueryScores(NamedTuple):
    """The scores of each query that has another item of its class: (q,) each.

    Attributes
    ----------
    rows : rows of the queries.
    classes : their classes, numbered from 0.
    average_precision, r_precision : scores of each query.
    inverse_penalty : number of items of the class over the rank of the last of them.
    first_rank : rank of the first item of the class.
    """

    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    average_precision: NDArray[np.float64]
    r_precision: NDArray[np.float64]
    inverse_penalty: NDArray[np.float64]
    first_rank: NDArray[np.float64]


class RetrievalReport(NamedTuple):
    """Every retrieval score.

    Attributes
    ----------
    queries : how many were scored.
    map, r_precision, minp : means over the queries.
    cmc : cmc[r - 1] is the share of queries with one of their class among the first r.
    """

    queries: int
    map: float
    r_precision: float
    minp: float
    cmc: NDArray[np.float64]


def mean_average_precision(
    X: Matrix, labels: ArrayLike, *, queries: ArrayLike | None = None, n_queries: int | None = None, seed: int = 0
) -> float:
    """Return the mean average precision of cosine similarity, exactly: every query against all other items.

    Parameters
    ----------
    X : (n, d) features.
    labels : (n,) classes, whole numbers or texts; an item below zero, or with an empty text, is of no class.
    queries : rows, or a mask of rows, that are queries; by default all. Every row is searched.
    n_queries : use so many of the queries.
    seed : of the draw of n_queries.

    Returns
    -------
    A number from 0 to 1. Among equal similarities the lower row comes first.

    Memory: one float32 copy of X and a block of 32 MiB for each thread, never an n x n matrix.

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> round(mean_average_precision(X, [0, 0, 1, 1, 1]), 4)
    0.9
    """
    return float(query_scores(X, labels, queries=queries, n_queries=n_queries, seed=seed).average_precision.mean())


def r_precision(X: Matrix, labels: ArrayLike, **options: Unpack[QueryOptions]) -> float:
    """Return the mean R-precision.

    Parameters
    ----------
    X, labels, options : as in `mean_average_precision`, and `show_progress`.

    Returns
    -------
    A number from 0 to 1.

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> round(r_precision(X, [0, 0, 1, 1, 1]), 4)
    0.9
    """
    return float(query_scores(X, labels, **options).r_precision.mean())


def mean_inverse_negative_penalty(X: Matrix, labels: ArrayLike, **options: Unpack[QueryOptions]) -> float:
    """Return mINP: 1 if no item of another class comes before the last one of the query's class.

    Parameters
    ----------
    X, labels, options : as in `mean_average_precision`, and `show_progress`.

    Returns
    -------
    A number from 0 to 1.

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> round(mean_inverse_negative_penalty(X, [0, 0, 1, 1, 1]), 4)
    0.9
    """
    return float(query_scores(X, labels, **options).inverse_penalty.mean())


def cmc(X: Matrix, labels: ArrayLike, top: int = 50, **options: Unpack[QueryOptions]) -> NDArray[np.float64]:
    """Return the cumulative matching characteristic at ranks 1 to `top`.

    Parameters
    ----------
    X, labels, options : as in `mean_average_precision`, and `show_progress`.
    top : the last rank.

    Returns
    -------
    (top,) shares of the queries with an item of their class among the first 1, 2, ... `top`.

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> cmc(X, [0, 1, 1, 1, 0], top=4)
    array([0.4, 0.6, 1. , 1. ])
    """
    return cmc_of(query_scores(X, labels, **options).first_rank, top)


def retrieval_report(X: Matrix, labels: ArrayLike, top: int = 50, **options: Unpack[QueryOptions]) -> RetrievalReport:
    """Return every retrieval score from one pass.

    Parameters
    ----------
    X, labels, options : as in `mean_average_precision`, and `show_progress`.
    top : the last rank of the CMC.

    Returns
    -------
    RetrievalReport

    Examples
    --------
    >>> import kinfolk as kf
    >>> digits = kf.datasets.digits()
    >>> report = retrieval_report(digits, digits.labels, n_queries=200)
    >>> round(report.map, 2), round(report.minp, 2), round(float(report.cmc[0]), 2)
    (0.65, 0.14, 1.0)
    """
    found = query_scores(X, labels, **options)
    return RetrievalReport(
        queries=len(found.rows),
        map=float(found.average_precision.mean()),
        r_precision=float(found.r_precision.mean()),
        minp=float(found.inverse_penalty.mean()),
        cmc=cmc_of(found.first_rank, top),
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
    """Return the scores of each query, for means of your own.

    Parameters
    ----------
    X, labels, queries, n_queries, seed : as in `mean_average_precision`.
    show_progress : a progress bar, in a terminal only.

    Returns
    -------
    QueryScores

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> query_scores(X, [0, 0, 1, 1, 7]).first_rank
    array([1., 1., 1., 1.])
    """
    unit = unit_rows(X)
    classes = _classes(labels, len(unit))
    rows = _query_rows(len(unit), queries, n_queries, seed)
    order = np.argsort(classes, kind="stable")
    starts = np.concatenate([[0], np.bincount(classes).cumsum()])
    step = max(1, BLOCK_SIMILARITIES // len(unit))
    scores = np.full((len(rows), 4), np.nan)
    with progress("ranking", len(rows), show=show_progress) as advance:

        def score(start: int) -> None:
            block = rows[start : start + step]
            _score_queries(unit[block] @ unit.T, block, classes, order, starts, scores[start : start + step])
            advance(len(block))

        if len(rows) > step:
            deal(score, range(0, len(rows), step))
        else:
            score(0)
    scored = ~np.isnan(scores[:, 0])
    if not scored.any():
        raise InputError("retrieval scores need a class with at least two items, one of them a query")
    return QueryScores(rows[scored], classes[rows[scored]], *scores[scored].T)


def cmc_of(first_rank: NDArray[np.float64], top: int) -> NDArray[np.float64]:
    """Return the share of queries whose first match has a rank of at most 1, 2, ... `top`: (top,).

    >>> cmc_of(np.array([1, 3, np.inf, 1]), top=3)
    array([0.5 , 0.5 , 0.75])
    """
    check_whole("top", top)
    return np.searchsorted(np.sort(first_rank), np.arange(1, top + 1), side="right") / len(first_rank)


def _query_rows(n: int, queries: ArrayLike | None, n_queries: int | None, seed: int) -> NDArray[np.int64]:
    rows = np.arange(n) if queries is None else _rows(np.asarray(queries), n)
    return draw_queries(rows, n_queries, seed)


def draw_queries(rows: NDArray[np.int64], n_queries: int | None, seed: int) -> NDArray[np.int64]:
    """Return n_queries of the rows, drawn with the seed, in their order; None: all of them.

    >>> draw_queries(np.arange(5), 6, seed=0)
    Traceback (most recent call last):
    kinfolk.InputError: n_queries is 6, but there are only 5 queries to draw from
    """
    if n_queries is None:
        return rows
    check_whole("n_queries", n_queries)
    check_seed(seed)
    if n_queries > len(rows):
        raise InputError(f"n_queries is {n_queries:,}, but there are only {len(rows):,} queries to draw from")
    return np.sort(np.random.default_rng(seed).choice(rows, n_queries, replace=False))


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


@kernel()
def _score_queries(
    similarities: NDArray[np.float32],
    queries: NDArray[np.int64],
    classes: NDArray[np.int64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Write AP, RP, INP and the first rank of each query, nothing where its class has no other item: (queries, 4)."""
    for q in range(len(queries)):
        own, row = queries[q], similarities[q]
        row[own] = -np.inf  # a query is not among its own results
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


@kernel()
def _items_between(row: NDArray[np.float32], kin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the items after kin t - 1 up to and with kin t, best first: (kin,). Kin: items of the query's class.

    Similarities from the lowest to the highest kin fall into bins. In a bin without kin, the bin alone decides between
    which kin an item lies; in the others a binary search does.
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
        ahead[bin_] = -1 - better if inside else better  # below zero: kin in this bin, search there
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
