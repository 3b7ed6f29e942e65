r"""The constant Potts model: clusters whose pairs are, on average, more probably kin than gamma.

    maximise  Q = sum over clusters of [ sum over edges inside of w_i w_j (p_ij - gamma)
                                       - sum over other pairs inside of w_i w_j gamma u_i u_j ],     pairs i < j

An edge is a pair that was observed: p_ij is the probability that its ends are kin. u_i in [0, 1] says how surely row i
has edges to all its kin: a pair without an edge is of strangers as far as both its ends are closed, else unknown. Row i
stands for w_i copies. With gamma = 1/2 the maximum of Q is the clustering with the fewest expected errors over pairs.

With m_i = w_i u_i and e_ij = w_i w_j (p_ij - gamma) + gamma m_i m_j on the edges, two disjoint sets gain by joining

    e(A, B) - gamma m(A) m(B),     where e and m of a set are sums over its rows

so a set can be moved as one node. Each row moves to the neighbouring cluster with the largest gain, or on its own; then
whole clusters move likewise, as nodes of a smaller graph; until none moves (the moves of Louvain; Traag et al. 2011 for
the model). Rows that must be together are one node from the start. Nodes that must be apart have an edge of minus
infinity, which stays one in every sum.
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
    """Nodes with their edges e, row after row of a symmetric matrix without its diagonal, and the sums of u and of w.

    Shapes: starts (n + 1,) int64, targets (edges,) int32, weights (edges,) float32; shut (n,), the sum of w u in a
    node, and copies (n,), the sum of w, both float64.
    """

    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.float32]
    shut: NDArray[np.float64]
    copies: NDArray[np.float64]


def group_by_potts(
    graph: csr_array,
    resolution: float = 0.5,
    seed: int = 0,
    *,
    closed: NDArray[np.floating] | None = None,
    copies: NDArray[np.number] | None = None,
    together: NDArray[np.integer] | None = None,
    apart: NDArray[np.integer] | None = None,
) -> NDArray[np.int64]:
    """Return a cluster for each row, numbered by their first rows.

    Memory: two copies of the graph.

    Parameters
    ----------
    graph : (n, n) symmetric, the p of observed pairs.
    resolution : gamma.
    seed : of the order in which rows are visited.
    closed : u (n,); None: 1 for all, a pair without an edge is of strangers.
    copies : w (n,), from 1 on; None: 1 for all.
    together : (n,) numbers 0, 1, 2, ...: rows with the same one are in one cluster; None: each row has its own.
    apart : (m, 2) pairs of these numbers that are never in one cluster.

    Examples
    --------
    >>> p = csr_array([[0, 0.9, 0.0, 0], [0.9, 0, 0.3, 0], [0, 0.3, 0, 0.8], [0, 0, 0.8, 0]])
    >>> group_by_potts(p)
    array([0, 0, 1, 1])
    >>> group_by_potts(p, apart=np.array([[0, 1]]))
    array([0, 1, 2, 2])
    """
    nodes = potts_nodes(graph, resolution, closed, copies, together, apart)
    n = len(nodes.shut)
    labels = np.arange(n)
    for round_ in range(ROUNDS):
        before, order = labels, np.random.default_rng(seed + round_).permutation(n)
        labels = by_appearance(local_moves(nodes, labels, resolution, order))
        labels = _move_clusters(nodes, labels, resolution, seed + round_)
        if np.array_equal(labels, before):
            break
    return labels if together is None else by_appearance(labels[together])


def potts_nodes(
    graph: csr_array,
    resolution: float = 0.5,
    closed: NDArray[np.floating] | None = None,
    copies: NDArray[np.number] | None = None,
    together: NDArray[np.integer] | None = None,
    apart: NDArray[np.integer] | None = None,
) -> Nodes:
    """Return the nodes to be moved: one for each row, or for each set of rows that must be together.

    >>> potts_nodes(csr_array([[0, 0.75], [0.75, 0]]), closed=np.array([1.0, 0.5])).weights
    array([0.5, 0.5], dtype=float32)
    """
    n = graph.shape[0]
    w = np.ones(n) if copies is None else np.asarray(copies, dtype=np.float64)
    m = w if closed is None else w * np.asarray(closed, dtype=np.float64)
    starts, targets = graph.indptr.astype(np.int64, copy=False), graph.indices.astype(np.int32, copy=False)
    nodes = Nodes(starts, targets, graph.data.astype(np.float32, copy=closed is not None or copies is not None), m, w)
    if closed is not None or copies is not None:  # else e is p
        _to_gains(*nodes, resolution)
    if together is not None:
        nodes = joined(nodes, together)
    return nodes if apart is None or len(apart) == 0 else _kept_apart(nodes, apart)


def potts_quality(
    graph: csr_array,
    labels: NDArray[np.integer],
    resolution: float = 0.5,
    closed: NDArray[np.floating] | None = None,
    copies: NDArray[np.number] | None = None,
) -> float:
    """Return Q of a clustering.

    >>> potts_quality(csr_array([[0, 0.9], [0.9, 0]]), np.array([0, 0]), resolution=0.5)
    0.4
    """
    edges, n = graph.tocoo(), graph.shape[0]
    w = np.ones(n) if copies is None else np.asarray(copies, dtype=np.float64)
    m = w if closed is None else w * np.asarray(closed, dtype=np.float64)
    inside = (labels[edges.row] == labels[edges.col]) & (edges.row != edges.col)
    i, j, p = edges.row[inside], edges.col[inside], edges.data[inside]
    observed = (w[i] * w[j] * (p - resolution) + resolution * m[i] * m[j]).sum()
    shut = np.bincount(by_appearance(labels), m)
    return float(observed - resolution * ((shut**2).sum() - (m**2).sum())) / 2


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
    shut, copies = (np.bincount(into, values).astype(np.float64) for values in (nodes.shut, nodes.copies))
    return Nodes(starts, targets, weights, shut, copies)


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
    _moves(nodes.starts, nodes.targets, nodes.weights, nodes.shut, labels, resolution, order)
    return labels


def _move_clusters(nodes: Nodes, labels: NDArray[np.int64], resolution: float, seed: int) -> NDArray[np.int64]:
    """Return the labels after whole clusters have moved, until no two are joined."""
    while True:
        clusters = joined(nodes, labels)
        count = len(clusters.shut)
        order = np.random.default_rng(seed).permutation(count)
        moved = by_appearance(local_moves(clusters, np.arange(count), resolution, order))
        if moved.max(initial=-1) + 1 == count:
            return labels
        labels = by_appearance(moved[labels])


def _kept_apart(nodes: Nodes, apart: NDArray[np.integer]) -> Nodes:
    """Return the nodes with an edge of minus infinity for each pair of `apart` (m, 2)."""
    n = len(nodes.shut)
    ends = np.concatenate([apart, apart[:, ::-1]]).astype(np.int64)
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    before = nodes.starts[ends[:, 0] + 1]  # behind the other edges of the row; the moves add up edges given twice
    targets = np.insert(nodes.targets, before, ends[:, 1])
    weights = np.insert(nodes.weights, before, np.float32(-np.inf))
    starts = nodes.starts + np.append(0, np.cumsum(np.bincount(ends[:, 0], minlength=n)))
    return nodes._replace(starts=starts, targets=targets.astype(np.int32, copy=False), weights=weights)


@kernel()
def _to_gains(
    starts: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    shut: NDArray[np.float64],
    copies: NDArray[np.float64],
    resolution: float,
) -> None:
    """Turn p into e, in place."""
    for i in range(len(shut)):
        for edge in range(starts[i], starts[i + 1]):
            j = targets[edge]
            observed = copies[i] * copies[j] * (weights[edge] - resolution)
            weights[edge] = observed + resolution * shut[i] * shut[j]


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
    labels: NDArray[np.int64], shut: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], int]:
    """Return the nodes of each label, their sum of u, a stack of the unused labels, and its height."""
    n = len(labels)
    members, shut_in, empty, n_empty = (np.zeros(n, np.int64), np.zeros(n), np.empty(n, np.int64), 0)
    for i in range(n):
        members[labels[i]] += 1
        shut_in[labels[i]] += shut[i]
    for c in range(n):
        if members[c] == 0:
            empty[n_empty] = c
            n_empty += 1
    return members, shut_in, empty, n_empty


@kernel()
def _moves(
    starts: NDArray[np.int64],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    shut: NDArray[np.float64],
    labels: NDArray[np.int64],
    resolution: float,
    order: NDArray[np.int64],
) -> None:
    """Move nodes in place until hardly any moves."""
    n = len(shut)
    members, shut_in, empty, n_empty = _clusters_of(labels, shut)
    linked = np.zeros(n)  # e of the edges from the current node to each label
    for _ in range(SWEEPS):
        moves = 0
        for i in order:
            own = labels[i]
            members[own] -= 1
            shut_in[own] = shut_in[own] - shut[i] if members[own] > 0 else 0.0  # no rounding is left behind
            for edge in range(starts[i], starts[i + 1]):
                if targets[edge] != i:
                    linked[labels[targets[edge]]] += weights[edge]
            stay = linked[own] - resolution * shut[i] * shut_in[own]  # 0 for a node on its own
            best, target = max(stay, 0.0), own if stay >= 0 else -1
            for edge in range(starts[i], starts[i + 1]):
                c = labels[targets[edge]]
                gain = linked[c] - resolution * shut[i] * shut_in[c]
                if gain > best + LEAST_GAIN:
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
            members[target] += 1
            shut_in[target] += shut[i]
        if moves <= SETTLED * n:
            break
