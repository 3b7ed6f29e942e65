r"""Agglomerative clustering of a sparse graph: the two most similar clusters are merged until none are linked.

    single    s(A, B) = max over pairs of s_ij
    average   s(A, B) = sum over pairs of s_ij / (|A| |B|)
    complete  s(A, B) = min over pairs of s_ij

A pair without an edge has similarity 0, so clusters without an edge between them are never merged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.hash_map import DELETED, EMPTY, new_hash_map, rehashed, slot_of
from kinfolk.cluster._internal.hierarchy import Merges

LINKAGES = ("single", "average", "complete")
SINGLE, AVERAGE, COMPLETE = range(3)


def sparse_linkage(graph: sparse.csr_array, linkage: str = "average", lowest: float = 0.0) -> Merges:
    """Return the merges of a symmetric graph, most similar first, down to similarities above `lowest`.

    A heap holds each pair of linked clusters once. A merge can only lower the similarity of other pairs (the key of a
    pair linked to both clusters is updated at once), so keys are upper bounds and are recomputed at the top of the
    heap. The cluster with fewer links moves its links to the other one: O(e log^2 e) for e edges.

    Memory: about 100 bytes an undirected edge.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=1)
    >>> merges = sparse_linkage(g.symmetric())
    >>> merges.left, merges.right
    (array([0, 2], dtype=int32), array([1, 3], dtype=int32))
    """
    upper = sparse.triu(graph, k=1).tocoo()
    kept = upper.data > lowest
    rows, columns = upper.row[kept].astype(np.int32), upper.col[kept].astype(np.int32)
    weights = upper.data[kept].astype(np.float64)
    left, right, similarity = _agglomerate(graph.shape[0], rows, columns, weights, LINKAGES.index(linkage), lowest)
    return Merges(left, right, np.minimum.accumulate(similarity))  # rounding may raise a value by its last digit


@kernel()
def _above(a: int, b: int, key: NDArray[np.float64]) -> bool:
    return key[a] > key[b] or (key[a] == key[b] and a < b)


@kernel()
def _sift_up(heap: NDArray[np.int32], where: NDArray[np.int32], key: NDArray[np.float64], at: int) -> None:
    edge = heap[at]
    while at > 0 and _above(edge, heap[(at - 1) // 2], key):
        heap[at] = heap[(at - 1) // 2]
        where[heap[at]] = at
        at = (at - 1) // 2
    heap[at], where[edge] = edge, at


@kernel()
def _sift_down(
    heap: NDArray[np.int32], where: NDArray[np.int32], key: NDArray[np.float64], at: int, length: int
) -> None:
    edge = heap[at]
    while 2 * at + 1 < length:
        child = 2 * at + 1
        if child + 1 < length and _above(heap[child + 1], heap[child], key):
            child += 1
        if not _above(heap[child], edge, key):
            break
        heap[at] = heap[child]
        where[heap[at]] = at
        at = child
    heap[at], where[edge] = edge, at


@kernel()
def _heap(key: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return all edges as a heap, the largest key on top, and the position of each edge in it."""
    heap, where = np.empty(len(key), np.int32), np.empty(len(key), np.int32)
    for edge in range(len(key)):
        heap[edge] = where[edge] = edge
    for at in range(len(key) // 2 - 1, -1, -1):
        _sift_down(heap, where, key, at, len(key))
    return heap, where


@kernel()
def _remove(heap: NDArray[np.int32], where: NDArray[np.int32], key: NDArray[np.float64], edge: int, length: int) -> int:
    """Remove an edge from the heap; return the new length."""
    at, last = where[edge], heap[length - 1]
    where[edge] = -1
    length -= 1
    if last != edge:
        heap[at], where[last] = last, at
        _sift_up(heap, where, key, at)
        _sift_down(heap, where, key, where[last], length)
    return length


@kernel()
def _similarity(weight: float, pairs: int, sizes: int, linkage: int) -> float:
    if linkage == AVERAGE:
        return weight / sizes
    if linkage == COMPLETE and pairs < sizes:
        return 0.0
    return weight


@kernel()
def _combined(one: float, other: float, linkage: int) -> float:
    if linkage == AVERAGE:
        return one + other
    return max(one, other) if linkage == SINGLE else min(one, other)


@kernel()
def _agglomerate(
    n: int, one: NDArray[np.int32], other: NDArray[np.int32], weight: NDArray[np.float64], linkage: int, lowest: float
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    edges = len(one)
    size = np.ones(n, dtype=np.int64)
    pairs = np.ones(edges, dtype=np.int64)  # pairs of rows with an edge, of each edge between clusters
    first, following, links, keys, numbers = _linked_lists(n, one, other)
    used = edges
    key = weight.copy()
    heap, where = _heap(key)
    length = edges
    left, right = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    similarity = np.empty(n, dtype=np.float32)
    merges = 0
    while length > 0:
        top = heap[0]
        a, b = one[top], other[top]
        now = _similarity(weight[top], pairs[top], size[a] * size[b], linkage)
        if now <= lowest:  # removed for good: it can only fall
            length = _remove(heap, where, key, top, length)
            continue
        if now < key[top]:
            key[top] = now
            _sift_down(heap, where, key, 0, length)
            continue
        left[merges], right[merges], similarity[merges] = min(a, b), max(a, b), now
        merges += 1
        length = _remove(heap, where, key, top, length)
        if links[a] > links[b]:
            a, b = b, a
        size[b] += size[a]
        half = first[a]
        while half >= 0:
            after, e = following[half], half // 2
            if where[e] >= 0:
                c = other[e] if half % 2 == 0 else one[e]
                numbers[slot_of(keys, _pair_key(a, c, n))] = DELETED
                slot = slot_of(keys, _pair_key(b, c, n))
                known = numbers[slot] if keys[slot] != EMPTY else DELETED
                if known != DELETED and where[known] >= 0:
                    weight[known] = _combined(weight[known], weight[e], linkage)
                    pairs[known] += pairs[e]
                    length = _remove(heap, where, key, e, length)
                    key[known] = _similarity(weight[known], pairs[known], size[b] * size[c], linkage)
                    _sift_up(heap, where, key, where[known])
                    _sift_down(heap, where, key, where[known], length)
                else:
                    used += keys[slot] == EMPTY
                    keys[slot], numbers[slot] = _pair_key(b, c, n), e
                    _attach(half, b, one, other, first, following, links)
                    if 2 * used > len(keys):
                        keys, numbers, used = rehashed(keys, numbers)
            half = after
    return left[:merges], right[:merges], similarity[:merges]


@kernel()
def _pair_key(a: int, b: int, n: int) -> int:
    return min(a, b) * n + max(a, b)


@kernel()
def _attach(
    half: int,
    cluster: int,
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    first: NDArray[np.int64],
    following: NDArray[np.int64],
    links: NDArray[np.int64],
) -> None:
    """Attach a half-edge to a cluster: 2 e is the end one[e] of edge e, 2 e + 1 the end other[e]."""
    if half % 2 == 0:
        one[half // 2] = cluster
    else:
        other[half // 2] = cluster
    following[half], first[cluster] = first[cluster], half
    links[cluster] += 1


@kernel()
def _linked_lists(
    n: int, one: NDArray[np.int32], other: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return each cluster's linked list of half-edges, their number, and the map from pairs of clusters to edges."""
    first, links = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    first[:] = -1
    following = np.empty(2 * len(one), dtype=np.int64)
    keys, numbers = new_hash_map(len(one) + 8)
    for e in range(len(one)):
        _attach(2 * e, one[e], one, other, first, following, links)
        _attach(2 * e + 1, other[e], one, other, first, following, links)
        slot = slot_of(keys, _pair_key(one[e], other[e], n))
        keys[slot], numbers[slot] = _pair_key(one[e], other[e], n), e
    return first, following, links, keys, numbers
