"""From candidates to neighbours: exact similarities, self left out, ties in a fixed order.

A search backend only proposes candidates. Their similarities are computed again here, always by the same loop, so that
s(i, j) == s(j, i) to the last bit, equal vectors have equal similarities, and a graph does not depend on chunk sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal

ROUNDING = np.float32(2e-6)  # two orders of adding up one float32 inner product differ by less than this
ROWS_AT_ONCE = 1024  # queries of one thread; fewer are not worth starting threads for


@kernel(fastmath=True)
def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> np.float32:
    total = np.float32(0.0)
    for d in range(a.shape[0]):
        total += a[d] * b[d]
    return min(max(total, np.float32(-1.0)), np.float32(1.0))


@kernel()
def _rank(
    queries: NDArray[np.float32],
    targets: NDArray[np.float32],
    own_rows: NDArray[np.int64],
    candidates: NDArray[np.int64],
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
    lowest: NDArray[np.float32],
) -> None:
    """Write the k best candidates of each query, and the similarity of its last candidate."""
    k, m = indices.shape[1], candidates.shape[1]
    ids = np.empty(m, dtype=np.int64)
    scores = np.empty(m, dtype=np.float32)
    for q in range(queries.shape[0]):
        found = 0
        for c in range(m):
            candidate = candidates[q, c]
            if candidate < 0 or candidate == own_rows[q]:
                continue
            score = _cosine(queries[q], targets[candidate])
            at = found  # insertion: the candidates come almost sorted
            while at > 0 and (scores[at - 1] < score or (scores[at - 1] == score and ids[at - 1] > candidate)):
                scores[at], ids[at] = scores[at - 1], ids[at - 1]
                at -= 1
            scores[at], ids[at] = score, candidate
            found += 1
        for r in range(k):
            if r < found:
                indices[q, r], similarities[q, r] = ids[r], scores[r]
            else:
                indices[q, r] = -1
        lowest[q] = scores[found - 1] if found else np.float32(1.0)


@kernel()
def _cosines(query: NDArray[np.float32], targets: NDArray[np.float32], cosines: NDArray[np.float32]) -> None:
    """Write the cosines of one query with every target."""
    for t in range(len(targets)):
        cosines[t] = _cosine(query, targets[t])


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

    def rank(start: int) -> None:
        part = slice(start, start + ROWS_AT_ONCE)
        results = indices[part], similarities[part], lowest[part]
        _rank(queries[part], targets, own_rows[part], candidates[part], *results)

    def compare_with_all(query: int) -> None:
        cosines = np.empty(len(targets), dtype=np.float32)
        _cosines(queries[query], targets, cosines)
        if own_rows[query] >= 0:
            cosines[own_rows[query]] = -np.inf
        indices[query] = np.argsort(-cosines, kind="stable")[:k]
        similarities[query] = cosines[indices[query]]

    _for_each(rank, range(0, len(queries), ROWS_AT_ONCE), several=1)
    unsettled = indices[:, -1] < 0
    if exact and candidates.shape[1] < len(targets):
        unsettled |= similarities[:, -1] <= lowest + ROUNDING
    _for_each(compare_with_all, np.flatnonzero(unsettled).tolist(), several=64)
    return indices, similarities


def _for_each(work: Callable[[int], None], parts: Sequence[int], several: int) -> None:
    """Do the work of each part, with threads where there are more than `several`."""
    if len(parts) > several:
        deal(work, parts)
    else:
        for part in parts:
            work(part)
