r"""The constant Potts model: clusters whose pairs are, on average, more likely kin than a resolution.

    maximise  Q = sum over clusters C of  sum over pairs i < j of C of (p_ij - gamma),     p_ij = 0 without an edge

With p the probability that two rows are kin and gamma = 1/2, that is the clustering with the fewest expected mistakes
about pairs. A row moves where Q gains most, among the clusters of its neighbours; then clusters move as the rows of a
smaller graph do; until none moves (Louvain's moves; Traag et al. 2011 for the model).
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

ROUNDS = 3
SWEEPS = 12
SETTLED = 1e-3  # share of the rows that still move when a sweep is the last one


def group_by_potts(graph: csr_array, resolution: float = 0.5, seed: int = 0) -> NDArray[np.int64]:
    """Return a cluster for each row of a symmetric graph (n, n) of weights p.

    Memory: two copies of the graph.

    >>> p = csr_array([[0, 0.9, 0.0, 0], [0.9, 0, 0.3, 0], [0, 0.3, 0, 0.8], [0, 0, 0.8, 0]])
    >>> group_by_potts(p)
    array([0, 0, 1, 1])
    """
    n = graph.shape[0]
    labels = np.arange(n)
    for round_ in range(ROUNDS):
        before, order = labels, np.random.default_rng(seed + round_).permutation(n)
        labels = numbered(moved(graph, np.ones(n), labels, resolution, order))
        labels = _merged(graph, labels, resolution, seed + round_)
        if np.array_equal(labels, before):
            break
    return labels


def potts_quality(graph: csr_array, labels: NDArray[np.integer], resolution: float) -> float:
    """Return Q of a clustering.

    >>> potts_quality(csr_array([[0, 0.9], [0.9, 0]]), np.array([0, 0]), resolution=0.5)
    0.4
    """
    edges = graph.tocoo()
    sizes = np.bincount(numbered(labels)).astype(np.float64)
    within = edges.data[labels[edges.row] == labels[edges.col]].sum(dtype=np.float64)
    return float(within - resolution * (sizes * (sizes - 1)).sum()) / 2


def numbered(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the labels as 0, 1, 2, ... in the order in which they appear.

    >>> numbered(np.array([7, 3, 7]))
    array([0, 1, 0])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse]


def _merged(graph: csr_array, labels: NDArray[np.int64], resolution: float, seed: int) -> NDArray[np.int64]:
    """Return the labels after whole clusters have moved, until none does."""
    while True:
        count = int(labels.max()) + 1
        members = csr_array(
            (np.ones(len(labels), np.float32), (np.arange(len(labels)), labels)), shape=(len(labels), count)
        )
        between = csr_array(members.T @ graph @ members)
        sizes = np.bincount(labels).astype(np.float64)
        order = np.random.default_rng(seed).permutation(count)
        joined = numbered(moved(between, sizes, np.arange(count), resolution, order))
        if joined.max() + 1 == count:
            return labels
        labels = numbered(joined[labels])


def moved(
    graph: csr_array, sizes: NDArray[np.float64], labels: NDArray[np.int64], resolution: float, order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the labels after moves: graph (n, n), sizes (n,) of what a row stands for, labels below n, order (n,).

    >>> moved(csr_array([[0, 0.9], [0.9, 0]]), np.ones(2), np.arange(2), 0.5, np.arange(2))
    array([1, 1])
    """
    return _moves(graph.indptr, graph.indices, graph.data, sizes, labels.copy(), resolution, order)


@nb.njit(cache=True)
def _moves(
    starts: NDArray[np.int32],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    sizes: NDArray[np.float64],
    labels: NDArray[np.int64],
    resolution: float,
    order: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Move rows, or clusters with their sizes, until hardly any moves; there are as many labels as rows."""
    n = len(sizes)
    members, linked = np.zeros(n), np.zeros(n)  # of each label: rows, and weight to the row that is asked
    for i in range(n):
        members[labels[i]] += sizes[i]
    empty = [c for c in range(n) if members[c] == 0]
    for _ in range(SWEEPS):
        moved = 0
        for i in order:
            own = labels[i]
            members[own] -= sizes[i]
            for edge in range(starts[i], starts[i + 1]):
                if targets[edge] != i:
                    linked[labels[targets[edge]]] += weights[edge]
            stay = linked[own] - resolution * sizes[i] * members[own]  # 0 for a row on its own
            best, target = max(stay, 0.0), own if stay >= 0 else -1
            for edge in range(starts[i], starts[i + 1]):
                c = labels[targets[edge]]
                gain = linked[c] - resolution * sizes[i] * members[c]
                if gain > best + 1e-9:
                    best, target = gain, c
            for edge in range(starts[i], starts[i + 1]):
                linked[labels[targets[edge]]] = 0.0
            target = empty.pop() if target < 0 else target
            if target != own:
                moved += 1
                if members[own] == 0:
                    empty.append(own)
            labels[i] = target
            members[target] += sizes[i]
        if moved <= SETTLED * n:
            break
    return labels
