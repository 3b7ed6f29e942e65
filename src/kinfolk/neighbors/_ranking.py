"""From candidates to neighbours: exact similarities, self left out, ties in a fixed order.

A search backend only proposes candidates. Their similarities are computed again here, always by the same loop, so that
s(i, j) == s(j, i) to the last bit, equal vectors have equal similarities, and a graph does not depend on chunk sizes.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

ROUNDING = np.float32(2e-6)  # two ways to add up one float32 inner product differ by less than this


@nb.njit(fastmath=True, cache=True)
def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> np.float32:
    total = np.float32(0.0)
    for d in range(a.shape[0]):
        total += a[d] * b[d]
    return min(max(total, np.float32(-1.0)), np.float32(1.0))


@nb.njit(parallel=True, cache=True)
def _rank(
    queries: NDArray[np.float32],
    targets: NDArray[np.float32],
    own_rows: NDArray[np.int64],
    candidates: NDArray[np.int64],
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
    lowest: NDArray[np.float32],
) -> None:
    k = indices.shape[1]
    for q in nb.prange(queries.shape[0]):
        ids = np.empty(candidates.shape[1], dtype=np.int64)
        scores = np.empty(candidates.shape[1], dtype=np.float32)
        found = 0
        for candidate in candidates[q]:
            if candidate < 0 or candidate == own_rows[q]:
                continue
            score = _cosine(queries[q], targets[candidate])
            at = found  # insertion: the candidates come almost sorted
            while at > 0 and (scores[at - 1] < score or (scores[at - 1] == score and ids[at - 1] > candidate)):
                scores[at], ids[at] = scores[at - 1], ids[at - 1]
                at -= 1
            scores[at], ids[at] = score, candidate
            found += 1
        kept = min(k, found)
        indices[q, :kept] = ids[:kept]
        similarities[q, :kept] = scores[:kept]
        indices[q, kept:] = -1
        lowest[q] = scores[found - 1] if found else np.float32(1.0)


@nb.njit(parallel=True, cache=True)
def _rank_all(
    rows: NDArray[np.int64],
    queries: NDArray[np.float32],
    targets: NDArray[np.float32],
    own_rows: NDArray[np.int64],
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
) -> None:
    k = indices.shape[1]
    for u in nb.prange(len(rows)):
        q = rows[u]
        negative = np.empty(targets.shape[0], dtype=np.float32)
        for t in range(targets.shape[0]):
            negative[t] = np.float32(np.inf) if t == own_rows[q] else -_cosine(queries[q], targets[t])
        order = np.argsort(negative, kind="mergesort")
        for r in range(k):
            indices[q, r] = order[r]
            similarities[q, r] = -negative[order[r]]


def rank_candidates(
    queries: NDArray[np.float32],
    targets: NDArray[np.float32],
    candidates: NDArray[np.int64],
    k: int,
    own_rows: NDArray[np.int64],
    exact: bool,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the k best candidates of each query, best first, the lower row number first among equals.

    Rows whose candidates do not settle the answer are compared with every target: those with fewer than k candidates
    and, when the search is `exact`, those where a target that was not proposed could tie with the last neighbour
    (many equal vectors).

    Shapes: queries (q, d), targets (n, d), candidates (q, m) with -1 for none, own_rows (q,) the target that is the
    query itself or -1  ->  indices (q, k), similarities (q, k).

    >>> X = np.eye(3, dtype=np.float32)
    >>> rank_candidates(X[:1], X, np.array([[0, 1, 2]]), 2, np.array([0]), True)[0]
    array([[1, 2]], dtype=int32)
    """
    indices = np.empty((len(queries), k), dtype=np.int32)
    similarities = np.empty((len(queries), k), dtype=np.float32)
    lowest = np.empty(len(queries), dtype=np.float32)
    _rank(queries, targets, own_rows, candidates, indices, similarities, lowest)
    unsettled = indices[:, -1] < 0
    if exact and candidates.shape[1] < len(targets):
        unsettled |= similarities[:, -1] <= lowest + ROUNDING
    if unsettled.any():
        _rank_all(np.flatnonzero(unsettled), queries, targets, own_rows, indices, similarities)
    return indices, similarities
