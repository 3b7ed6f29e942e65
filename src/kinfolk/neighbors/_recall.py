"""The recall of an approximate search on a sample of queries, and the cheapest search that reaches a recall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.faiss import faiss

SAMPLE = 1000  # queries; the standard error of a recall of 0.99 is then below 0.002


def sample_truth(
    targets: NDArray[np.float32], queries: NDArray[np.float32] | None, k: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Return sampled queries (s, d), the targets that are themselves (s,) or -1, and their k true neighbours (s, k).

    Without queries the targets themselves are the queries; a query is then among its own true neighbours.
    """
    population = targets if queries is None else queries
    rows = np.sort(np.random.default_rng(seed).choice(len(population), min(SAMPLE, len(population)), replace=False))
    truth = faiss.knn(population[rows], targets, k, metric=faiss.METRIC_INNER_PRODUCT)[1]
    return population[rows], rows if queries is None else np.full(len(rows), -1), truth


def largest_share(shares: NDArray[np.float32], counts: NDArray[np.bool_], wanted: float) -> tuple[float, float]:
    """Return the largest share that finds enough of the neighbours that count, with its recall.

    `shares` is the largest share at which a true neighbour is found (q, k). The mean recall must lie one standard error
    above the one wanted, so that another sample would agree.

    >>> share, recall = largest_share(np.array([[0.9, 0.5], [0.8, 0.7]]), np.ones((2, 2), dtype=bool), 0.75)
    >>> round(share, 3), recall
    (0.5, 1.0)
    """
    levels = np.unique(shares[counts])
    low, high = 0, len(levels) - 1  # the lowest level finds everything
    while low < high:
        middle = (low + high + 1) // 2
        mean, error = _mean_recall(shares >= levels[middle], counts)
        low, high = (middle, high) if mean - error >= wanted else (low, middle - 1)
    return float(levels[low]), _mean_recall(shares >= levels[low], counts)[0]


def _mean_recall(hits: NDArray[np.bool_], counts: NDArray[np.bool_]) -> tuple[float, float]:
    recalls = (hits & counts).sum(axis=1) / counts.sum(axis=1)
    return float(recalls.mean()), float(recalls.std() / np.sqrt(len(recalls)))
