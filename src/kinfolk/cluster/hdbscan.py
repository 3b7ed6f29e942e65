r"""HDBSCAN: clusters that persist while the density they are looked at with grows (Campello et al., 2013).

Similarity of rows i and j, in cosines; core_i is the cosine to the row that makes i's neighbourhood dense enough:

    m_ij = min(s_ij, core_i, core_j),      distance d_ij = sqrt(2 - 2 m_ij),      density lambda_ij = 1 / d_ij

Single linkage on m gives a hierarchy. Going down it, lambda grows; where a cluster falls into two parts of
`min_cluster_size` rows or more, two clusters are born; where a smaller part falls off, its rows are lost. The

    stability of a cluster C  =  sum over its rows i of  (lambda at which i leaves C  -  lambda at which C was born)

decides: of all sets of clusters without a common row the one with the largest sum of stabilities is taken, the cluster
of all rows left out. Rows of none of them are noise.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from kinfolk._core.errors import InputError
from kinfolk.cluster._internal.base import Clusterer, rows_of
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.union_find import find
from kinfolk.cluster.hac import EXACT_ROWS, dense_linkage
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph

SMALLEST_DISTANCE = 1e-3  # cosines in single precision tell no smaller ones


class HDBSCAN(Clusterer):
    """Clusters of at least `min_cluster_size` rows, the rest is noise (-1).

    min_cluster_size   the smallest cluster
    min_samples        rows that make a place dense, itself among them; None: min_cluster_size
    k                  neighbours of each row: for more than 5,000 rows, and for a NeighborGraph, only the edges of the
                       graph count, and its parts are infinitely far from each other

    Memory: 16 n^2 bytes up to 5,000 rows (at most 400 MB); beyond, about 50 bytes an edge of the graph.

    >>> X = np.eye(3).repeat(6, axis=0) + 0.1 * np.random.default_rng(0).random((18, 3))
    >>> HDBSCAN().fit(X).n_clusters_
    3
    """

    def __init__(  # noqa: D107
        self, min_cluster_size: int = 5, min_samples: int | None = None, k: int = 80, *, max_size: int | None = None
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.k = k
        self.max_size = max_size

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        n = rows_of(X)
        smallest = self.min_cluster_size
        samples = smallest if self.min_samples is None else self.min_samples
        if not smallest >= 2:
            raise InputError(f"min_cluster_size must be 2 or more, not {smallest!r}")
        if not samples >= 1:
            raise InputError(f"min_samples must be 1 or more, not {samples!r}")
        others = min(samples, n) - 1
        if not isinstance(X, NeighborGraph) and n <= EXACT_ROWS:
            merges = dense_linkage(_dense_reachability(self._unit(X), others), "single")
        else:
            g = self._graph(X, max(self.k, others))
            if others > g.k:
                raise InputError(f"min_samples={samples} needs a graph of {others} neighbours, this one has {g.k}")
            merges = spanning_merges(g, _reachability(g, others))
        distance = np.sqrt(np.maximum(2.0 - 2.0 * merges.similarity.astype(np.float64), SMALLEST_DISTANCE**2))
        return stable_clusters(n, merges.left, merges.right, 1.0 / distance, smallest)


def spanning_merges(g: NeighborGraph, similarities: NDArray[np.float32]) -> Merges:
    """Return single linkage of a graph with other similarities than its own, (n, k): its largest spanning forest.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=1)
    >>> spanning_merges(g, g.similarities).similarity.round(2)
    array([1., 1.], dtype=float32)
    """
    n, k = g.indices.shape
    weights = 2.0 - similarities.ravel().astype(np.float64)  # positive: 0 would mean no edge
    graph = sparse.csr_array((weights, g.indices.ravel(), np.arange(n + 1) * k), shape=(n, n))
    forest = minimum_spanning_tree(graph, overwrite=True).tocoo()
    order = np.argsort(forest.data, kind="stable")
    left, right = forest.row[order].astype(np.int32), forest.col[order].astype(np.int32)
    return Merges(left, right, (2.0 - forest.data[order]).astype(np.float32))


def _reachability(g: NeighborGraph, others: int) -> NDArray[np.float32]:
    similarities = np.asarray(g.similarities)
    core = similarities[:, others - 1] if others else np.ones(len(similarities), dtype=np.float32)
    return np.minimum(np.minimum(similarities, core[:, None]), core[g.indices])


def _dense_reachability(unit: NDArray[np.float32], others: int) -> NDArray[np.float64]:
    similarities = unit.astype(np.float64) @ unit.T
    np.fill_diagonal(similarities, np.inf)  # itself is the first of the rows that make a place dense
    core = -np.partition(-similarities, others, axis=1)[:, others]
    return np.minimum(np.minimum(similarities, core[:, None]), core, out=similarities)


@nb.njit(cache=True)
def stable_clusters(
    n: int, left: NDArray[np.int32], right: NDArray[np.int32], density: NDArray[np.float64], smallest: int
) -> NDArray[np.int64]:
    """Return the most stable cluster of each row, -1 for noise: (n,).

    left, right, density: the merges of a hierarchy, (m,) each, density falling.

    >>> left, right = np.array([0, 2, 0], np.int32), np.array([1, 3, 2], np.int32)
    >>> stable_clusters(4, left, right, np.array([9.0, 8.0, 1.0]), 2)
    array([1, 1, 2, 2])
    """
    children, size, is_root = _binary_tree(n, left, right)
    merges = len(left)
    within = np.zeros(n + merges, dtype=np.int64)  # the cluster a node belongs to, or fell off from
    lost = np.zeros(n + merges, dtype=np.bool_)
    # cluster 0 has all rows
    parent, born, stability = np.full(n + merges + 1, -1), np.zeros(n + merges + 1), np.zeros(n + merges + 1)
    clusters = 1
    if is_root.sum() > 1:  # parts without an edge between them
        for node in range(n + merges):
            if is_root[node]:
                lost[node] = size[node] < smallest
                if not lost[node]:
                    within[node], parent[clusters] = clusters, 0
                    clusters += 1
    for merge in range(merges - 1, -1, -1):
        node = n + merge
        own = within[node]
        one, other = children[merge]
        within[one] = within[other] = own
        if lost[node]:
            lost[one] = lost[other] = True
            continue
        lost[one], lost[other] = size[one] < smallest, size[other] < smallest
        split = not lost[one] and not lost[other]
        for child in (one, other):
            if lost[child] or split:
                stability[own] += size[child] * (density[merge] - born[own])
            if split:
                within[child], parent[clusters], born[clusters] = clusters, own, density[merge]
                clusters += 1
    return _selected(within[:n], parent[:clusters], stability[:clusters])


@nb.njit(cache=True)
def _selected(
    within: NDArray[np.int64], parent: NDArray[np.int64], stability: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return for each row the chosen cluster that holds the one it ends in."""
    clusters = len(parent)
    below, chosen = np.zeros(clusters), np.zeros(clusters, dtype=np.bool_)
    for c in range(clusters - 1, 0, -1):  # children have higher numbers
        chosen[c] = stability[c] >= below[c]
        below[parent[c]] += max(stability[c], below[c])
    label = np.full(clusters, -1)
    for c in range(1, clusters):
        label[c] = label[parent[c]] if label[parent[c]] >= 0 else (c if chosen[c] else -1)
    return label[within]


@nb.njit(cache=True)
def _binary_tree(
    n: int, left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the two nodes below each merge, the rows below each node, and which nodes are below none.

    Nodes: the n rows, then a node for each merge.
    """
    merges = len(left)
    children, size = np.empty((merges, 2), dtype=np.int64), np.ones(n + merges, dtype=np.int64)
    is_root = np.ones(n + merges, dtype=np.bool_)
    parent = np.arange(n).astype(np.int32)
    node = np.arange(n)  # of each root of the union-find
    for merge in range(merges):
        a, b = find(parent, left[merge]), find(parent, right[merge])
        children[merge, 0], children[merge, 1] = node[a], node[b]
        is_root[node[a]] = is_root[node[b]] = False
        size[n + merge] = size[node[a]] + size[node[b]]
        parent[max(a, b)] = min(a, b)
        node[min(a, b)] = n + merge
    return children, size, is_root
