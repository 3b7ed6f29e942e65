r"""The constant Potts model: clusters whose pairs have, on average, a weight above a resolution.

    maximise  Q = sum over clusters C of  sum over pairs i < j of C of (p_ij - gamma),     p_ij = 0 without an edge

With p the probability that two rows are kin and gamma = 1/2, the maximum of Q is the clustering with the fewest
expected errors over pairs. Each row moves to the neighbouring cluster with the largest gain of Q; then whole clusters
move likewise, as nodes of a smaller graph; until none moves (the moves of Louvain; Traag et al. 2011 for the model).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kinfolk._core.kernels import kernel

ROUNDS = 3  # at most, of moves of rows and then of clusters: a bound on the time, as is SWEEPS
SWEEPS = 12  # at most, passes over the rows in a round
SETTLED = 1e-3  # a pass in which at most this share of the rows moves is the last one


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
        labels = by_appearance(local_moves(graph, np.ones(n), labels, resolution, order))
        labels = _move_clusters(graph, labels, resolution, seed + round_)
        if np.array_equal(labels, before):
            break
    return labels


def potts_quality(graph: csr_array, labels: NDArray[np.integer], resolution: float) -> float:
    """Return Q of a clustering.

    >>> potts_quality(csr_array([[0, 0.9], [0.9, 0]]), np.array([0, 0]), resolution=0.5)
    0.4
    """
    edges = graph.tocoo()
    sizes = np.bincount(by_appearance(labels)).astype(np.float64)
    within = edges.data[labels[edges.row] == labels[edges.col]].sum(dtype=np.float64)
    return float(within - resolution * (sizes * (sizes - 1)).sum()) / 2


def by_appearance(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the labels as 0, 1, 2, ... in the order of their first rows.

    >>> by_appearance(np.array([7, 3, 7]))
    array([0, 1, 0])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse]


def _move_clusters(graph: csr_array, labels: NDArray[np.int64], resolution: float, seed: int) -> NDArray[np.int64]:
    """Return the labels after whole clusters have moved, until no two are joined."""
    while True:
        count = int(labels.max()) + 1
        members = csr_array(
            (np.ones(len(labels), np.float32), (np.arange(len(labels)), labels)), shape=(len(labels), count)
        )
        between = csr_array(members.T @ graph @ members)
        sizes = np.bincount(labels).astype(np.float64)
        order = np.random.default_rng(seed).permutation(count)
        joined = by_appearance(local_moves(between, sizes, np.arange(count), resolution, order))
        if joined.max() + 1 == count:
            return labels
        labels = by_appearance(joined[labels])


def local_moves(
    graph: csr_array, sizes: NDArray[np.float64], labels: NDArray[np.int64], resolution: float, order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the labels after moves of nodes: graph (n, n), sizes (n,) in rows, labels below n, order (n,) of visits.

    >>> local_moves(csr_array([[0, 0.9], [0.9, 0]]), np.ones(2), np.arange(2), 0.5, np.arange(2))
    array([1, 1])
    """
    starts, targets = (graph.indptr.astype(np.int64, copy=False), graph.indices.astype(np.int32, copy=False))
    weights = graph.data.astype(np.float32, copy=False)
    labels = labels.astype(np.int64)
    members = np.asarray(np.bincount(labels, sizes, minlength=len(labels)), dtype=np.float64)
    empty = np.append(np.flatnonzero(members == 0), np.zeros(len(labels), dtype=np.int64))
    _moves(starts, targets, weights, sizes, labels, resolution, order, members, empty, int((members == 0).sum()))
    return labels


@kernel()
def _moves(
    starts: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    sizes: NDArray[np.float64],
    labels: NDArray[np.int64],
    resolution: float,
    order: NDArray[np.int64],
    members: NDArray[np.float64],
    empty: NDArray[np.int64],
    n_empty: int,
) -> None:
    """Move nodes in place until hardly any moves; members (n,): rows of each label; empty: a stack of unused labels."""
    n = len(sizes)
    linked = np.zeros(n)  # weight of the edges from the current node to each label
    for _ in range(SWEEPS):
        moves = 0
        for i in order:
            own = labels[i]
            members[own] -= sizes[i]
            for edge in range(starts[i], starts[i + 1]):
                if targets[edge] != i:
                    linked[labels[targets[edge]]] += weights[edge]
            stay = linked[own] - resolution * sizes[i] * members[own]  # 0 for a node on its own
            best, target = max(stay, 0.0), own if stay >= 0 else -1
            for edge in range(starts[i], starts[i + 1]):
                c = labels[targets[edge]]
                gain = linked[c] - resolution * sizes[i] * members[c]
                if gain > best + 1e-9:
                    best, target = gain, c
            for edge in range(starts[i], starts[i + 1]):
                linked[labels[targets[edge]]] = 0.0
            if target < 0:
                n_empty -= 1
                target = empty[n_empty]
            if target != own:
                moves += 1
                if members[own] == 0:
                    empty[n_empty] = own
                    n_empty += 1
            labels[i] = target
            members[target] += sizes[i]
        if moves <= SETTLED * n:
            break
