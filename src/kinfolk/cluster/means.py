r"""Clusters whose rows are, on average, more similar than a threshold: no pair of rows is ever looked at.

    maximise  Q = 1/2 sum_C (|S_C|^2 - theta n_C^2),     S_C: the sum of the rows of C, n_C: how many

which is the sum of (cos(z_i, z_j) - theta) over all pairs of a cluster, neighbours in a graph or not, up to a constant:
all pairs count, at the price of one product with S_C. A row moves where Q gains most, among the clusters of its
neighbours; then whole clusters do; until none moves (Louvain's moves for the constant Potts model).
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk.neighbors import knn_graph

ROUNDS = 3
SWEEPS = 12
NEARBY_CLUSTERS = 20
SETTLED = 1e-3  # share of the units that still move when a sweep is the last one


def group_by_means(
    Z: NDArray[np.float32], neighbors: NDArray[np.int32], threshold: float, seed: int = 0
) -> NDArray[np.int64]:
    """Return a cluster for each row of Z (n, d) of length one; `neighbors` (n, m): whose clusters a row may join.

    Memory: twice the features.

    >>> Z = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]], dtype=np.float32)
    >>> group_by_means(Z, np.array([[1], [0], [3], [2]], dtype=np.int32), threshold=0.7)
    array([0, 0, 1, 1])
    """
    labels = np.arange(len(Z))
    for round_ in range(ROUNDS):
        before = labels
        labels = _numbered(
            _moves(Z, np.ones(len(Z)), neighbors, labels.copy(), threshold, _order(len(Z), seed + round_))
        )
        labels = _merged(Z, labels, threshold, seed + round_)
        if np.array_equal(labels, before):
            break
    return labels


def quality(Z: NDArray[np.float32], labels: NDArray[np.integer], threshold: float) -> float:
    """Return Q of a clustering.

    >>> quality(np.eye(2, dtype=np.float32), np.array([0, 0]), threshold=0.5)
    0.0
    """
    numbers = _numbered(labels)
    sums, sizes = cluster_sums(Z, numbers), np.bincount(numbers).astype(np.float64)
    return float((np.einsum("cd,cd->", sums, sums, dtype=np.float64) - threshold * (sizes**2).sum()) / 2)


def _merged(Z: NDArray[np.float32], labels: NDArray[np.int64], threshold: float, seed: int) -> NDArray[np.int64]:
    """Return the labels after whole clusters have moved to clusters with a similar mean, until none does."""
    while True:
        sums, sizes = cluster_sums(Z, labels), np.bincount(labels).astype(np.float64)
        if len(sums) < 2:
            return labels
        near = knn_graph(mean_directions(Z, labels), min(NEARBY_CLUSTERS, len(sums) - 1), show_progress=False).indices
        moved = _numbered(_moves(sums, sizes, near, np.arange(len(sums)), threshold, _order(len(sums), seed)))
        if moved.max() + 1 == len(sums):
            return labels
        labels = _numbered(moved[labels])


def _order(n: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(n)


def _numbered(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the labels as 0, 1, 2, ... in the order in which they appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse]


def cluster_sums(Z: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return S_C, the sum of the rows of each cluster: Z (n, d), labels (n,) from 0 on without gaps -> (clusters, d).

    >>> cluster_sums(np.eye(3, dtype=np.float32), np.array([0, 1, 0])).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return np.add.reduceat(Z[order], starts, axis=0, dtype=np.float32)


def mean_directions(Z: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return a vector in the direction of each cluster's mean; the first row stands for rows that cancel.

    >>> mean_directions(np.array([[1, 0], [-1, 0], [0, 1]], dtype=np.float32), np.array([0, 0, 1])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    sums = cluster_sums(Z, labels)
    first = np.unique(labels, return_index=True)[1]
    return np.where(sums.any(axis=1, keepdims=True), sums, Z[first])


@nb.njit(cache=True, fastmath=True)
def _product(a: NDArray[np.float32], b: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for c in range(len(a)):
        total += a[c] * b[c]
    return total


@nb.njit(cache=True)
def _moves(
    units: NDArray[np.float32],
    sizes: NDArray[np.float64],
    neighbors: NDArray[np.int32],
    labels: NDArray[np.int64],
    threshold: float,
    order: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Move units (sums of rows, with their sizes) until hardly any moves; there are as many labels as units."""
    n = len(units)
    sums = np.zeros_like(units)
    members = np.zeros(n)
    for i in range(n):
        sums[labels[i]] += units[i]
        members[labels[i]] += sizes[i]
    empty = [c for c in range(n) if members[c] == 0]
    asked = np.full(n, -1)
    for sweep in range(SWEEPS):
        moved = 0
        for i in order:
            own = labels[i]
            sums[own] -= units[i]
            members[own] -= sizes[i]
            best, target = 0.0, -1
            if members[own] > 0:
                gain = _product(sums[own], units[i]) - threshold * sizes[i] * members[own]
                if gain >= best:
                    best, target = gain, own
            asked[own] = sweep * n + i
            for j in neighbors[i]:
                c = labels[j]
                if asked[c] == sweep * n + i or members[c] == 0:
                    continue
                asked[c] = sweep * n + i
                gain = _product(sums[c], units[i]) - threshold * sizes[i] * members[c]
                if gain > best + 1e-6:
                    best, target = gain, c
            if target < 0:
                target = own if members[own] == 0 else empty.pop()
            if target != own:
                moved += 1
                if members[own] == 0:
                    empty.append(own)
                    sums[own] = 0
            labels[i] = target
            sums[target] += units[i]
            members[target] += sizes[i]
        if moved <= SETTLED * n:
            break
    return labels
