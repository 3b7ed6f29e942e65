r"""The constant Potts model: clusters whose pairs are, on average, more probably kin than gamma.

    maximise  Q = sum over clusters of the sum over pairs i < j inside of p_ij - gamma

p_ij is the probability that i and j are kin, 0 for a pair without an edge. With gamma = 1/2 the maximum of Q is the
clustering with the fewest expected errors over pairs. Two disjoint sets gain by joining

    p(A, B) - gamma |A| |B|,     where p(A, B) is the sum over the edges between them

so a set can be moved as one node. Each row moves to the neighbouring cluster with the largest gain, or on its own; then
whole clusters move likewise, as nodes of a smaller graph; until none moves (the moves of Louvain; Traag et al. 2011 for
the model). Rows that must be together are one node from the start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kinfolk._core.kernels import kernel

ROUNDS = 3  # at most, of moves of rows and then of clusters: a bound on the time, as is SWEEPS
SWEEPS = 12  # at most, passes over the rows in a round
SETTLED = 1e-3  # a pass in which at most this share of the rows moves is the last one
LEAST_GAIN = 1e-9  # smaller ones are rounding: rows would move to and fro


class Nodes(NamedTuple):
    """Nodes with their edges, row after row of a symmetric matrix, and the number of rows that each stands for.

    Shapes: starts (n + 1,) int64, targets (edges,) int32, weights (edges,) float32, the sum of p; size (n,) int64, from
    1 on.
    """

    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.float32]
    size: NDArray[np.int64]


def group_by_potts(
    graph: csr_array,
    resolution: float = 0.5,
    seed: int = 0,
    *,
    together: NDArray[np.integer] | None = None,
) -> NDArray[np.int64]:
    """Return a cluster for each row, numbered by their first rows.

    Memory: two copies of the graph.

    Parameters
    ----------
    graph : (n, n) symmetric, the p of pairs.
    resolution : gamma.
    seed : of the order in which rows are visited.
    together : (n,) numbers 0, 1, 2, ...: rows with the same one are in one cluster; None: each row has its own.

    Examples
    --------
    >>> p = csr_array([[0, 0.9, 0.0, 0], [0.9, 0, 0.3, 0], [0, 0.3, 0, 0.8], [0, 0, 0.8, 0]])
    >>> group_by_potts(p)
    array([0, 0, 1, 1])
    >>> group_by_potts(p, together=np.array([0, 1, 1, 2]))
    array([0, 1, 1, 2])
    """
    nodes = potts_nodes(graph, together)
    n = len(nodes.size)
    labels = np.arange(n)
    for round_ in range(ROUNDS):
        before, order = labels, np.random.default_rng(seed + round_).permutation(n)
        labels = by_appearance(local_moves(nodes, labels, resolution, order))
        labels = _move_clusters(nodes, labels, resolution, seed + round_)
        if np.array_equal(labels, before):
            break
    return labels if together is None else by_appearance(labels[together])


def potts_nodes(graph: csr_array, together: NDArray[np.integer] | None = None) -> Nodes:
    """Return the nodes to be moved: one for each row, or for each set of rows that must be together.

    >>> potts_nodes(csr_array([[0, 0.75], [0.75, 0]]), np.array([0, 0])).size
    array([2])
    """
    starts, targets = graph.indptr.astype(np.int64, copy=False), graph.indices.astype(np.int32, copy=False)
    weights = graph.data.astype(np.float32, copy=False)
    nodes = Nodes(starts, targets, weights, np.ones(graph.shape[0], dtype=np.int64))
    return nodes if together is None else joined(nodes, together)


def potts_quality(graph: csr_array, labels: NDArray[np.integer], resolution: float = 0.5) -> float:
    """Return Q of a clustering.

    >>> potts_quality(csr_array([[0, 0.9], [0.9, 0]]), np.array([0, 0]), resolution=0.5)
    0.4
    """
    edges, size = graph.tocoo(), np.bincount(by_appearance(labels))
    inside = (labels[edges.row] == labels[edges.col]) & (edges.row != edges.col)
    p = edges.data[inside].sum(dtype=np.float64)
    return float(p - resolution * (size * (size - 1)).sum()) / 2  # each pair was counted twice


def by_appearance(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the labels as 0, 1, 2, ... in the order of their first rows.

    >>> by_appearance(np.array([7, 3, 7]))
    array([0, 1, 0])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse]


def joined(nodes: Nodes, labels: NDArray[np.integer]) -> Nodes:
    """Return the clusters 0, 1, 2, ... of the nodes as nodes: all sums, without the edges inside.

    >>> nodes = potts_nodes(csr_array(np.ones((3, 3), dtype=np.float32)))
    >>> joined(nodes, np.array([0, 0, 1])).weights
    array([2., 2.], dtype=float32)
    """
    into = labels.astype(np.int64, copy=False)
    order, bounds = members_of(into)
    starts, targets, weights = _sums_between(nodes.starts, nodes.targets, nodes.weights, into, order, bounds)
    return Nodes(starts, targets, weights, np.bincount(into, nodes.size).astype(np.int64))


def members_of(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `order` and `bounds`: cluster c has the nodes order[bounds[c]], ..., order[bounds[c + 1] - 1].

    >>> members_of(np.array([1, 0, 1]))
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    return np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels)))


def local_moves(
    nodes: Nodes, labels: NDArray[np.int64], resolution: float, order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the labels (n,), numbers below n, after moves of nodes, which are visited in the given order (n,).

    >>> local_moves(potts_nodes(csr_array([[0, 0.9], [0.9, 0]])), np.arange(2), 0.5, np.arange(2))
    array([1, 1])
    """
    labels = labels.astype(np.int64)
    _moves(nodes.starts, nodes.targets, nodes.weights, nodes.size, labels, resolution, order)
    return labels


def _move_clusters(nodes: Nodes, labels: NDArray[np.int64], resolution: float, seed: int) -> NDArray[np.int64]:
    """Return the labels after whole clusters have moved, until no two are joined."""
    while True:
        clusters = joined(nodes, labels)
        count = len(clusters.size)
        order = np.random.default_rng(seed).permutation(count)
        moved = by_appearance(local_moves(clusters, np.arange(count), resolution, order))
        if moved.max(initial=-1) + 1 == count:
            return labels
        labels = by_appearance(moved[labels])


@kernel()
def _sums_between(
    starts: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    labels: NDArray[np.int64],
    order: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the edges between clusters."""
    count = len(bounds) - 1
    new_starts = np.zeros(count + 1, np.int64)
    new_targets, new_weights = np.empty(len(targets), np.int32), np.empty(len(targets), np.float32)
    linked, seen = np.zeros(count), np.full(count, -1, np.int64)
    used = 0
    for c in range(count):
        for i in order[bounds[c] : bounds[c + 1]]:
            for edge in range(starts[i], starts[i + 1]):
                d = labels[targets[edge]]
                if d == c:
                    continue
                if seen[d] != c:
                    seen[d], linked[d], new_targets[used] = c, 0.0, d
                    used += 1
                linked[d] += weights[edge]
        for edge in range(new_starts[c], used):
            new_weights[edge] = linked[new_targets[edge]]
        new_starts[c + 1] = used
    return new_starts, new_targets[:used].copy(), new_weights[:used].copy()


@kernel()
def _clusters_of(
    labels: NDArray[np.int64], size: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the rows of each label, a stack of the unused labels, and its height."""
    n = len(labels)
    size_in, empty, n_empty = (np.zeros(n, np.int64), np.empty(n, np.int64), 0)
    for i in range(n):
        size_in[labels[i]] += size[i]
    for c in range(n):
        if size_in[c] == 0:
            empty[n_empty] = c
            n_empty += 1
    return size_in, empty, n_empty


@kernel()
def _moves(
    starts: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    size: NDArray[np.int64],
    labels: NDArray[np.int64],
    resolution: float,
    order: NDArray[np.int64],
) -> None:
    """Move nodes in place until hardly any moves."""
    n = len(size)
    size_in, empty, n_empty = _clusters_of(labels, size)
    linked = np.zeros(n)  # p of the edges from the current node to each label
    for _ in range(SWEEPS):
        moves = 0
        for i in order:
            own = labels[i]
            size_in[own] -= size[i]
            for edge in range(starts[i], starts[i + 1]):
                if targets[edge] != i:
                    linked[labels[targets[edge]]] += weights[edge]
            stay = linked[own] - resolution * size[i] * size_in[own]  # 0 for a node on its own
            best, target = max(stay, 0.0), own if stay >= 0 else -1
            for edge in range(starts[i], starts[i + 1]):
                c = labels[targets[edge]]
                gain = linked[c] - resolution * size[i] * size_in[c]
                if gain > best + LEAST_GAIN:
                    best, target = gain, c
            for edge in range(starts[i], starts[i + 1]):
                linked[labels[targets[edge]]] = 0.0
            if target < 0:
                n_empty -= 1
                target = empty[n_empty]
            if target != own:
                moves += 1
                if size_in[own] == 0:
                    empty[n_empty] = own
                    n_empty += 1
            labels[i] = target
            size_in[target] += size[i]
        if moves <= SETTLED * n:
            break
