"""How much of the exact answer an approximate search finds, and how far its effort must go."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import faiss
import numpy as np
from numpy.typing import NDArray

SAMPLE = 1000  # queries; the standard error of a recall of 0.99 is then below 0.002

Search = Callable[[NDArray[np.float32], int], NDArray[np.int64]]  # (queries, effort) -> (q, m) target rows


def recall_of(found: NDArray[np.int64], truth: NDArray[np.int64], own_rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each query the share of its true neighbours that were found; the query itself does not count.

    >>> recall_of(np.array([[3, 1], [5, 6]]), np.array([[3, 1, 2], [6, 5, 7]]), own_rows=np.array([3, 7]))
    array([0.5, 1. ])
    """
    return np.array([np.isin(t[t != own], f).mean() for f, t, own in zip(found, truth, own_rows, strict=True)])


def tune_effort(
    targets: NDArray[np.float32],
    queries: NDArray[np.float32] | None,
    k: int,
    wanted: float,
    search: Search,
    efforts: Iterable[int],
    seed: int,
) -> tuple[int, float] | None:
    """Return the first effort whose recall on a sample of the queries reaches `wanted`, with that recall.

    Without queries the targets themselves are the queries. The mean must lie one standard error above what was asked,
    so that another sample would say the same. None when no effort reaches it.
    """
    asked = targets if queries is None else queries
    rows = np.sort(np.random.default_rng(seed).choice(len(asked), min(SAMPLE, len(asked)), replace=False))
    own_rows = rows if queries is None else np.full(len(rows), -1)
    truth = faiss.knn(asked[rows], targets, k, metric=faiss.METRIC_INNER_PRODUCT)[1]
    for effort in efforts:
        recalls = recall_of(search(asked[rows], effort), truth, own_rows)
        if recalls.mean() - recalls.std() / np.sqrt(len(recalls)) >= wanted:
            return effort, float(recalls.mean())
    return None
