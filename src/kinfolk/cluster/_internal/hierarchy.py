r"""A hierarchy of clusters as the list of its merges, and where to cut it without labels.

`most_modular` maximises modularity on edges weighted by the cube of their Sim-M:

    Q = sum over edges within clusters of w_ij / W  -  sum over clusters of (d_c / 2W)^2,     w_ij = Sim-M_ij ^ 3

W is the weight of all edges, d_c that of the edges' ends in cluster c.

`shortest_walk` minimises the map equation (Rosvall and Bergstrom 2008): how many bits a step of a random walk takes,

    L = f(q) - 2 sum over c of f(q_c) + sum over c of f(q_c + p_c) - sum over rows of f(p_i),       f(x) = x log2 x

where p_c = d_c / 2W is how often the walk is in cluster c, q_c how often it leaves it, and q the sum of all q_c. Unlike
modularity it does not prefer larger clusters in larger sets. The last sum is the same for all cuts and left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.union_find import connected

# edges that nearly all tests support decide; chosen on the training parts of the real sets and on generated ones
SIM_M_POWER = 3


class Merges(NamedTuple):
    """The merges of a hierarchy, first to last: a row of one cluster, a row of the other, and their similarity.

    Shapes: left, right (m,) int32 and similarity (m,) float32, falling; m < n, and n - m clusters are left at the end.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    similarity: NDArray[np.float32]

    def split(self, count: int) -> tuple[Merges, Merges]:
        """Return the first `count` merges, and the rest."""
        left, right, similarity = self
        before, after = slice(count), slice(count, None)
        return Merges(left[before], right[before], similarity[before]), Merges(
            left[after], right[after], similarity[after]
        )


def cut(merges: Merges, n: int, count: int) -> NDArray[np.int32]:
    """Return the lowest row of the cluster of each of the n rows after the first `count` merges.

    >>> merges = Merges(np.array([0, 2]), np.array([1, 1]), np.array([0.9, 0.5]))
    >>> cut(merges, 3, 1)
    array([0, 0, 2], dtype=int32)
    """
    return connected(n, merges.left[:count], merges.right[:count])


def count_above(merges: Merges, threshold: float) -> int:
    """Return how many merges have at least this similarity.

    >>> count_above(Merges(np.array([0, 2]), np.array([1, 1]), np.array([0.9, 0.5])), 0.9)
    1
    """
    return int(np.searchsorted(-merges.similarity, -np.asarray(threshold, merges.similarity.dtype), side="right"))


def most_modular(merges: Merges, indices: NDArray[np.int32], tests: NDArray[np.float32]) -> int:
    """Return the number of merges after which modularity is largest; merges of equal similarity are not separated.

    Shapes: indices (n, k) neighbours, tests (n, k) the Sim-M of these edges. Cost: for each edge a climb of at most
    log2 n steps; memory: a copy of the tests.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=2)
    >>> merges = Merges(np.array([0, 2, 0]), np.array([1, 3, 3]), np.array([0.9, 0.8, 0.1]))
    >>> most_modular(merges, g.indices, kf.sim_m(g))
    2
    """
    if len(merges.left) == 0:
        return 0
    modularity = modularity_of_merges(merges, indices, tests**SIM_M_POWER)
    last_of_equals = np.append(np.diff(merges.similarity) != 0, True)
    modularity[1:][~last_of_equals] = -np.inf
    return int(np.argmax(modularity))


def shortest_walk(merges: Merges, indices: NDArray[np.int32], weights: NDArray[np.float32]) -> int:
    """Return the number of merges after which the map equation is smallest; equal similarities are not separated.

    Shapes: indices (n, k) neighbours, weights (n, k) of these edges. Cost: as `most_modular`.

    >>> merges = Merges(np.array([0, 2, 0]), np.array([1, 3, 3]), np.array([0.9, 0.8, 0.1]))
    >>> shortest_walk(merges, np.array([[1, 2], [0, 3], [3, 0], [2, 1]]), np.array([[1, 0.1]] * 4))
    2
    """
    if len(merges.left) == 0:
        return 0
    bits = bits_of_merges(merges, indices, weights)
    last_of_equals = np.append(np.diff(merges.similarity) != 0, True)
    bits[1:][~last_of_equals] = np.inf
    return int(np.argmin(bits))


def modularity_of_merges(
    merges: Merges, indices: NDArray[np.int32], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the modularity after 0, 1, ..., m merges, (m + 1,), on edges (n, k) with weights (n, k).

    >>> merges = Merges(np.array([0]), np.array([1]), np.array([0.9]))
    >>> modularity_of_merges(merges, np.array([[1], [0]]), np.ones((2, 1))).tolist()
    [-0.5, 0.0]
    """
    change = np.zeros(len(merges.left) + 2)
    _modularity_changes(
        np.ascontiguousarray(merges.left, np.int32),
        np.ascontiguousarray(merges.right, np.int32),
        np.ascontiguousarray(indices, np.int32),
        np.ascontiguousarray(weights, np.float32),
        change,
    )
    return np.cumsum(change[:-1])


def bits_of_merges(merges: Merges, indices: NDArray[np.int32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the map equation, without the term of single rows, after 0, 1, ..., m merges: (m + 1,).

    >>> merges = Merges(np.array([0]), np.array([1]), np.array([0.9]))
    >>> bits_of_merges(merges, np.array([[1], [0]]), np.ones((2, 1))).tolist()
    [2.0, 0.0]
    """
    bits = np.zeros(len(merges.left) + 1)
    _bits(
        np.ascontiguousarray(merges.left, np.int32),
        np.ascontiguousarray(merges.right, np.int32),
        np.ascontiguousarray(indices, np.int32),
        np.ascontiguousarray(weights, np.float32),
        bits,
    )
    return bits


@kernel()
def _bits(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    bits: NDArray[np.float64],
) -> None:
    n, k = indices.shape
    visits, total = _ends(indices, weights)
    if total == 0:
        return
    parent, joined, gone, kept = _attached(left, right, n)
    within = np.zeros(len(left) + 2)  # what each merge puts inside a cluster; of single rows: edges to themselves
    for i in range(n):
        for a in range(k):
            within[_joining_merge(parent, joined, i, indices[i, a])] += 2 * weights[i, a] / total
    visits /= total
    leaves = visits.copy()
    leaving, terms = 0.0, 0.0  # q; the two sums over clusters
    for i in range(n):
        leaving += leaves[i]
        terms += _cluster_bits(leaves[i], visits[i])
    bits[0] = _x_log_x(leaving) + terms
    for merge in range(len(left)):
        a, b = gone[merge], kept[merge]
        terms -= _cluster_bits(leaves[a], visits[a]) + _cluster_bits(leaves[b], visits[b])
        visits[b] += visits[a]
        leaves[b] += leaves[a] - within[merge + 1]
        leaving -= within[merge + 1]
        terms += _cluster_bits(leaves[b], visits[b])
        bits[merge + 1] = _x_log_x(leaving) + terms


@kernel()
def _cluster_bits(leaves: float, visits: float) -> float:
    return _x_log_x(leaves + visits) - 2 * _x_log_x(leaves)


@kernel()
def _x_log_x(x: float) -> float:
    return x * np.log2(x) if x > 0 else 0.0


@kernel()
def _ends(indices: NDArray[np.int32], weights: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Return the weight of the edges' ends at each row, (n,), and their sum 2 W."""
    n, k = indices.shape
    ends, total = np.zeros(n), 0.0
    for i in range(n):
        for a in range(k):
            ends[i] += weights[i, a]
            ends[indices[i, a]] += weights[i, a]
            total += 2 * weights[i, a]
    return ends, total


@kernel()
def _attached(
    left: NDArray[np.int32], right: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the forest of the merges: parent (n,), the merge that attached each row (n,), the two roots of each merge.

    Paths are not halved, so that each node keeps the merge that attached it; union by size keeps them short.
    """
    parent, joined, size = (np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32))
    gone, kept = (np.empty(len(left), np.int32), np.empty(len(left), np.int32))
    for i in range(n):
        parent[i], joined[i], size[i] = i, len(left) + 1, 1
    for merge in range(len(left)):
        a, b = left[merge], right[merge]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if size[a] > size[b]:
            a, b = b, a
        parent[a], joined[a] = b, merge + 1
        size[b] += size[a]
        gone[merge], kept[merge] = a, b
    return parent, joined, gone, kept


@kernel()
def _modularity_changes(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    change: NDArray[np.float64],
) -> None:
    """Add what each merge changes to change[1:], and the modularity of single rows to change[0]."""
    n, k = indices.shape
    ends, total = _ends(indices, weights)
    if total == 0:
        return
    parent, joined, gone, kept = _attached(left, right, n)
    for i in range(n):
        change[0] -= (ends[i] / total) ** 2
    for merge in range(len(left)):
        a, b = gone[merge], kept[merge]
        change[merge + 1] -= 2 * ends[a] * ends[b] / total**2
        ends[b] += ends[a]
    for i in range(n):
        for e in range(k):
            change[_joining_merge(parent, joined, i, indices[i, e])] += 2 * weights[i, e] / total


@kernel()
def _joining_merge(parent: NDArray[np.int32], joined: NDArray[np.int32], a: int, b: int) -> int:
    """Return the merge, from 1 on, that joined two rows; 0 for a row and itself; m + 1 where none did."""
    merge = 0
    while a != b:
        if joined[a] > joined[b]:
            a, b = b, a
        merge = joined[a]
        if parent[a] == a:
            break
        a = parent[a]
    return merge
