r"""k-reciprocal re-ranking (KR): two rows are near if the rows that name each other around them are the same.

Zhong, Zheng, Cao, Li, "Re-ranking Person Re-identification with k-reciprocal Encoding", CVPR 2017.

With N(p, k) the first k rows of the list of p over queries and gallery, which begins with p itself:

    R(p, k)   = {g in N(p, k) : p in N(g, k)}
    R*(p, k)  = R(p, k) and every R(q, k / 2), q in R(p, k), with |R(p, k) and R(q, k / 2)| >= 2/3 |R(q, k / 2)|
    V_pg      = exp(-d(p, g)) for g in R*(p, k1), else 0, each row divided by its sum
    V_p       <- mean of V_g over g in N(p, k2)
    d_J(p, g) = 1 - \sum_j min(V_pj, V_gj) / \sum_j max(V_pj, V_gj)
    d*(p, g)  = (1 - \lambda) d_J(p, g) + \lambda d(p, g)

d is the squared Euclidean distance of unit vectors divided by the largest one of the row, d(p, g) = |p - g|^2 / max_j
|p - j|^2. The rows of V are sparse; an inverted index over them gives d_J of the pairs that share a column, and it is 1
for all others. The helper that many programs copy takes k1 + 1 and k1 / 2 + 1 rows of the list, and > in place of >=:
form="helper".
"""

from __future__ import annotations

from typing import Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.features import Matrix
from kinfolk.rerank._pool import Neighbors, Pool
from kinfolk.rerank._ranking import TOP, Ranking, rank_blocks
from kinfolk.rerank._settings import Defaults, Preset, lists_of
from kinfolk.rerank._sparse import TASKS, SparseRows, add_rows, task_rows

DEFAULTS = Defaults(
    paper=dict(k1=20, k2=6, lambda_value=0.3),
    follow=lambda k: dict(k1=max(2, round(1.4 * k)), k2=max(1, round(0.3 * k)), lambda_value=0.3),
)


def k_reciprocal(
    query: Matrix,
    gallery: Matrix,
    k1: int | None = None,
    k2: int | None = None,
    lambda_value: float | None = None,
    *,
    top: int | None = TOP,
    preset: Preset = None,
    scale: int | None = None,
    form: Literal["paper", "helper"] = "paper",
    show_progress: bool = True,
) -> Ranking:
    """Rank the gallery by k-reciprocal encoding.

    Without k1 and k2 they follow the size of the classes (`scale`, found unless given);
    preset="paper": 20, 6 and lambda 0.3.

    Shapes: query (nq, d), gallery (ng, d)  ->  (nq, top).
    Memory: unit vectors, lists of k1, the sparse rows, products of queries and gallery up to 1 GiB, blocks of 64 MiB.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> k_reciprocal(fs.features[:50], fs.features[50:], k1=20, k2=6)
    Ranking(50 queries, top 100 of 1,747)
    """
    if form not in ("paper", "helper"):
        raise InputError(f"form must be 'paper' or 'helper', not {form!r}")
    pool = Pool(query, gallery, show_progress)
    settings, found = DEFAULTS.settle(pool, preset, scale, k1=k1, k2=k2, lambda_value=lambda_value)
    if not settings["lambda_value"] <= 1:
        raise InputError(f"lambda_value must lie between 0 and 1, not {settings['lambda_value']}")
    more = form == "helper"
    entries, half = settings["k1"] + more, max(1, round(settings["k1"] / 2) + more)
    lists = lists_of(pool, found, max(entries, settings["k2"]))
    V = reciprocal_rows(pool.unit, lists, entries, half, strict=more)
    near = lists.indices[:, : settings["k2"]]
    if near.shape[1] > 1:
        V = add_rows(V, near, 1 / near.shape[1])
    who_names = V.inverted(pool.n_queries)

    def distances(start: int, stop: int) -> NDArray[np.float32]:
        block = pool.similarities(start, stop)
        _mix(block, start, lists.lowest, V, who_names, np.float32(settings["lambda_value"]))
        return block

    return rank_blocks(distances, pool.n_queries, pool.n_gallery, top, settings, show_progress)


def reciprocal_rows(unit: NDArray[np.float32], lists: Neighbors, entries: int, half: int, strict: bool) -> SparseRows:
    """Return V before it is averaged: over R*(p, entries), expanded by R(q, half), each row of sum one.

    Shapes: unit (n, d), lists (n, l)  ->  (n, n) sparse.

    >>> pool = Pool([[1, 0.0]], [[1, 0.1], [0, 1]])
    >>> reciprocal_rows(pool.unit, lists_of(pool, None, 2), 2, 1, False).columns
    array([0, 1, 1, 0, 2], dtype=int32)
    """
    ids = lists.indices
    both, short = _reciprocal(ids[:, :entries]), _reciprocal(ids[:, :half])
    counts = np.zeros(len(ids) + 1, dtype=np.int64)
    _count_expanded(ids, both, short, strict, counts)
    starts = counts.cumsum()
    V = SparseRows(starts, np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.float32))
    _write_expanded(unit, ids, lists.similarities, lists.lowest, both, short, strict, V)
    return V


@nb.njit(parallel=True, cache=True)
def _reciprocal(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Say which rows of each list have the row in their own: (n, k) -> (n, k)."""
    both = np.zeros(ids.shape, dtype=np.bool_)
    for i in nb.prange(ids.shape[0]):
        for r in range(ids.shape[1]):
            other, found = ids[i, r], False
            for s in range(ids.shape[1]):
                found |= ids[other, s] == i
            both[i, r] = found
    return both


@nb.njit(cache=True)
def _expand(
    i: int,
    ids: NDArray[np.int32],
    both: NDArray[np.bool_],
    short: NDArray[np.bool_],
    strict: bool,
    seen: NDArray[np.int32],
    members: NDArray[np.int32],
) -> int:
    """Write R*(i) to `members` and return its size; seen[j] is 2 i for j in R(i), 2 i + 1 for those that join it."""
    core = 0
    for r in range(both.shape[1]):
        if both[i, r]:
            seen[ids[i, r]] = 2 * i
            members[core] = ids[i, r]
            core += 1
    end = core
    for m in range(core):
        near = members[m]
        size, common = 0, 0
        for s in range(short.shape[1]):
            if short[near, s]:
                size += 1
                common += seen[ids[near, s]] == 2 * i
        if 3 * common > 2 * size or (3 * common == 2 * size and not strict):
            for s in range(short.shape[1]):
                other = ids[near, s]
                if short[near, s] and seen[other] < 2 * i:
                    seen[other] = 2 * i + 1
                    members[end] = other
                    end += 1
    return end


@nb.njit(parallel=True, cache=True)
def _count_expanded(
    ids: NDArray[np.int32],
    both: NDArray[np.bool_],
    short: NDArray[np.bool_],
    strict: bool,
    counts: NDArray[np.int64],
) -> None:
    n = len(ids)
    for task in nb.prange(TASKS):
        seen, members = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int32)
        first, last = task_rows(task, n)
        for i in range(first, last):
            counts[i + 1] = _expand(i, ids, both, short, strict, seen, members)


@nb.njit(parallel=True, cache=True, fastmath=True)
def _write_expanded(
    unit: NDArray[np.float32],
    ids: NDArray[np.int32],
    similarities: NDArray[np.float32],
    lowest: NDArray[np.float32],
    both: NDArray[np.bool_],
    short: NDArray[np.bool_],
    strict: bool,
    V: SparseRows,
) -> None:
    n = len(ids)
    starts, columns, values = V
    for task in nb.prange(TASKS):
        seen, members = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int32)
        first, last = task_rows(task, n)
        for i in range(first, last):
            count = _expand(i, ids, both, short, strict, seen, members)
            begin, total, r = starts[i], np.float32(0.0), 0
            for m in range(count):
                other = members[m]
                while r < both.shape[1] and not both[i, r]:
                    r += 1
                if r < both.shape[1]:  # R(i) comes first, in the order of the list
                    similarity = similarities[i, r]
                    r += 1
                else:
                    similarity = np.float32(0.0)
                    for d in range(unit.shape[1]):
                        similarity += unit[i, d] * unit[other, d]
                weight = np.exp(-_share(similarity, lowest[i]))
                columns[begin + m], values[begin + m] = other, weight
                total += weight
            for e in range(begin, begin + count):
                values[e] /= total


@nb.njit(cache=True)
def _share(similarity: np.float32, lowest: np.float32) -> np.float32:
    """Return the squared distance as a share of the largest one of the row."""
    largest = np.float32(1.0) - lowest
    return max(np.float32(1.0) - similarity, np.float32(0.0)) / largest if largest > 0 else np.float32(0.0)


@nb.njit(parallel=True, cache=True)
def _mix(
    block: NDArray[np.float32],
    start: int,
    lowest: NDArray[np.float32],
    V: SparseRows,
    who_names: SparseRows,
    lambda_value: np.float32,
) -> None:
    """Turn cosines of the queries from `start` on with the gallery into d*: (b, ng) in place."""
    one, two = np.float32(1.0), np.float32(2.0)
    starts, columns, values = V
    named_starts, named_rows, named_values = who_names
    for task in nb.prange(TASKS):
        common = np.zeros(block.shape[1], dtype=np.float32)  # sum of the smaller values
        first, last = task_rows(task, len(block))
        for b in range(first, last):
            q = start + b
            for e in range(starts[q], starts[q + 1]):
                column, value = columns[e], values[e]
                for f in range(named_starts[column], named_starts[column + 1]):
                    common[named_rows[f]] += min(value, named_values[f])
            for g in range(block.shape[1]):
                # both rows have the sum one, so the larger values add up to what the smaller ones leave of two
                jaccard = one - common[g] / (two - common[g])
                block[b, g] = (one - lambda_value) * jaccard + lambda_value * _share(block[b, g], lowest[q])
                common[g] = np.float32(0.0)
