r"""k-reciprocal re-ranking (KR): two rows are near if they have the same reciprocal neighbours.

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

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel, over_spans
from kinfolk.features import Matrix
from kinfolk.rerank._pool import Neighbors, Pool
from kinfolk.rerank._ranking import TOP, Ranking, Watch, rank_blocks
from kinfolk.rerank._settings import Defaults, Preset, rank_lists
from kinfolk.rerank._sparse import SparseRows, add_rows

DEFAULTS = Defaults(
    paper=dict(k1=20, k2=6, lambda_value=0.3),
    for_k=lambda k: dict(k1=max(2, round(1.4 * k)), k2=max(1, round(0.3 * k)), lambda_value=0.3),
    most=lambda pool: dict(k1=len(pool), k2=len(pool)),
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
    class_k: int | None = None,
    form: Literal["paper", "helper"] = "paper",
    show_progress: bool = True,
    watch: Watch = None,
) -> Ranking:
    """Rank the gallery by k-reciprocal encoding.

    Parameters
    ----------
    query, gallery : features (nq, d) and (ng, d).
    k1, k2 : rows of the lists that must hold each other, and that are averaged over; None: from the preset or class_k.
    lambda_value : share of the original distance, from 0 to 1; None: 0.3.
    top : length of the lists, or the whole gallery where that is smaller; None: the whole gallery.
    preset : "paper": k1 = 20, k2 = 6.
    class_k : the k that fits the classes, which k1 and k2 follow; None: chosen from the data.
    form : "paper", or "helper" for the sets of the program that is usually copied (see the module's text).
    show_progress : bars on a terminal.
    watch : called with the whole gallery in its new order, (b, ng) rows, for each block of queries: to score all of it
        while only `top` is kept.

    Returns
    -------
    Ranking
        indices and distances (nq, top). Memory: unit vectors, lists of k1, the sparse rows, products of queries and
        gallery up to 1 GiB, blocks of 64 MiB.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> k_reciprocal(fs.features[:50], fs.features[50:], k1=20, k2=6)
    Ranking(50 queries, top 100 of 1,747)
    """
    check_choice("form", form, ("paper", "helper"))
    pool = Pool(query, gallery, show_progress)
    settings, neighbors = DEFAULTS.resolve(pool, preset, class_k, k1=k1, k2=k2, lambda_value=lambda_value)
    if not settings["lambda_value"] <= 1:
        raise InputError(f"lambda_value must lie between 0 and 1, not {settings['lambda_value']}")
    helper = form == "helper"
    whole, half = settings["k1"] + helper, max(1, round(settings["k1"] / 2) + helper)
    lists = rank_lists(pool, neighbors, max(whole, settings["k2"]))
    V = reciprocal_rows(pool.unit, lists, whole, half, strict=helper)
    nearest = lists.indices[:, : settings["k2"]]
    if nearest.shape[1] > 1:
        V = add_rows(V, nearest, 1 / nearest.shape[1])
    inverted = V.inverted(pool.n_queries)
    weight = np.float32(settings["lambda_value"])

    def distances(start: int, stop: int) -> NDArray[np.float32]:
        block = pool.similarities(start, stop)
        over_spans(lambda a, b: _mix(a, b, block, start, lists.lowest, *V, *inverted, weight), len(block))
        return block

    return rank_blocks(distances, pool.n_queries, pool.n_gallery, top, settings, show_progress, watch)


def reciprocal_rows(unit: NDArray[np.float32], lists: Neighbors, whole: int, half: int, strict: bool) -> SparseRows:
    """Return V before it is averaged: over R*(p, whole), expanded by R(q, half), each row of sum one.

    Shapes: unit (n, d), lists (n, l)  ->  (n, n) sparse.

    >>> pool = Pool([[1, 0.0]], [[1, 0.1], [0, 1]])
    >>> reciprocal_rows(pool.unit, rank_lists(pool, None, 2), 2, 1, False).columns
    array([0, 1, 1, 0, 2], dtype=int32)
    """
    ids, n = lists.indices, len(lists.indices)
    both, short = _reciprocal_sets(ids, whole), _reciprocal_sets(ids, half)
    sizes = np.zeros(n, dtype=np.int64)
    nothing = SparseRows.of_sizes(sizes)
    over_spans(lambda a, b: _encode(a, b, unit, *lists, both, short, strict, sizes, *nothing, False), n)
    V = SparseRows.of_sizes(sizes)
    over_spans(lambda a, b: _encode(a, b, unit, *lists, both, short, strict, sizes, *V, True), n)
    return V


def _reciprocal_sets(ids: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """Return which of the first k of each list have the row among their own first k: (n, l) -> (n, k)."""
    both = np.empty((len(ids), min(k, ids.shape[1])), dtype=np.bool_)
    over_spans(lambda a, b: _reciprocal(a, b, ids, both), len(ids))
    return both


@kernel()
def _reciprocal(first: int, last: int, ids: NDArray[np.int32], both: NDArray[np.bool_]) -> None:
    for i in range(first, last):
        for r in range(both.shape[1]):
            found = False
            for s in range(both.shape[1]):
                found |= ids[ids[i, r], s] == i
            both[i, r] = found


@kernel()
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


@kernel(fastmath=True)
def _encode(
    first: int,
    last: int,
    unit: NDArray[np.float32],
    ids: NDArray[np.int32],
    similarities: NDArray[np.float32],
    lowest: NDArray[np.float32],
    both: NDArray[np.bool_],
    short: NDArray[np.bool_],
    strict: bool,
    sizes: NDArray[np.int64],
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    write: bool,
) -> None:
    """Find the sizes of R* of the rows first..last - 1, or write their rows of V."""
    seen, members = np.full(len(ids), -1, dtype=np.int32), np.empty(len(ids), dtype=np.int32)
    for i in range(first, last):
        sizes[i] = _expand(i, ids, both, short, strict, seen, members)
        if not write:
            continue
        begin, end, total, r = starts[i], starts[i + 1], np.float32(0.0), 0
        for e in range(begin, end):
            other = members[e - begin]
            while r < both.shape[1] and not both[i, r]:
                r += 1
            if r < both.shape[1]:  # R(i) comes first, in the order of the list
                similarity = similarities[i, r]
                r += 1
            else:
                similarity = np.float32(0.0)
                for d in range(unit.shape[1]):
                    similarity += unit[i, d] * unit[other, d]
            columns[e], values[e] = other, np.exp(-_share(similarity, lowest[i]))
            total += values[e]
        for e in range(begin, end):
            values[e] /= total


@kernel()
def _share(similarity: np.float32, lowest: np.float32) -> np.float32:
    """Return the squared distance as a share of the largest one of the row."""
    largest = np.float32(1.0) - lowest
    return max(np.float32(1.0) - similarity, np.float32(0.0)) / largest if largest > 0 else np.float32(0.0)


@kernel()
def _mix(
    first: int,
    last: int,
    block: NDArray[np.float32],
    start: int,
    lowest: NDArray[np.float32],
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    list_starts: NDArray[np.int64],
    list_rows: NDArray[np.int32],
    list_values: NDArray[np.float32],
    lambda_value: np.float32,
) -> None:
    """Turn the cosines of rows first..last - 1 of a block, queries from `start` on, into d*: (b, ng) in place."""
    one, two = np.float32(1.0), np.float32(2.0)
    common = np.zeros(block.shape[1], dtype=np.float32)  # sum of the smaller values
    for b in range(first, last):
        q = start + b
        for e in range(starts[q], starts[q + 1]):
            column, value = columns[e], values[e]
            for f in range(list_starts[column], list_starts[column + 1]):
                common[list_rows[f]] += min(value, list_values[f])
        for g in range(block.shape[1]):
            # both rows have the sum one, so the larger values add up to what the smaller ones leave of two
            jaccard = one - common[g] / (two - common[g])
            block[b, g] = (one - lambda_value) * jaccard + lambda_value * _share(block[b, g], lowest[q])
            common[g] = np.float32(0.0)
