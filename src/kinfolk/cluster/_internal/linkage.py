r"""Agglomerative clustering of a sparse graph: the two most similar clusters become one, again and again.

    single    s(A, B) = max over pairs of s_ij
    average   s(A, B) = sum over pairs of s_ij / (|A| |B|)
    complete  s(A, B) = min over pairs of s_ij

A pair without an edge has similarity 0, so clusters without an edge between them never become one.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinfolk.cluster._internal.hash_map import FREE, GONE, grown, new_table, place_of
from kinfolk.cluster._internal.hierarchy import Merges

LINKAGES = ("single", "average", "complete")
SINGLE, AVERAGE, COMPLETE = range(3)


def sparse_linkage(graph: sparse.csr_array, linkage: str = "average", lowest: float = 0.0) -> Merges:
    """Return the merges of a symmetric graph, most similar first, down to similarities above `lowest`.

    A heap holds each pair of linked clusters once. After a merge a pair's similarity can only be lower than the heap
    believes (that of a pair linked twice is corrected at once), so it is computed again when the pair comes to the top.
    Of two clusters the one with fewer links moves its links to the other: e log^2 e steps for e edges.

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
    return Merges(left, right, np.minimum.accumulate(similarity))  # rounding may lift a value by its last digit


@nb.njit(cache=True)
def _above(a: int, b: int, key: NDArray[np.float64]) -> bool:
    return key[a] > key[b] or (key[a] == key[b] and a < b)


@nb.njit(cache=True)
def _rise(heap: NDArray[np.int32], where: NDArray[np.int32], key: NDArray[np.float64], at: int) -> None:
    edge = heap[at]
    while at > 0 and _above(edge, heap[(at - 1) // 2], key):
        heap[at] = heap[(at - 1) // 2]
        where[heap[at]] = at
        at = (at - 1) // 2
    heap[at], where[edge] = edge, at


@nb.njit(cache=True)
def _sink(heap: NDArray[np.int32], where: NDArray[np.int32], key: NDArray[np.float64], at: int, length: int) -> None:
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


@nb.njit(cache=True)
def _heap(key: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return all edges as a heap, the largest key on top, and where in it each edge is."""
    heap, where = np.arange(len(key)).astype(np.int32), np.arange(len(key)).astype(np.int32)
    for at in range(len(key) // 2 - 1, -1, -1):
        _sink(heap, where, key, at, len(key))
    return heap, where


@nb.njit(cache=True)
def _remove(heap: NDArray[np.int32], where: NDArray[np.int32], key: NDArray[np.float64], edge: int, length: int) -> int:
    """Take an edge out of the heap; return the new length."""
    at, last = where[edge], heap[length - 1]
    where[edge] = -1
    length -= 1
    if last != edge:
        heap[at], where[last] = last, at
        _rise(heap, where, key, at)
        _sink(heap, where, key, where[last], length)
    return length


@nb.njit(cache=True)
def _similarity(weight: float, pairs: int, sizes: int, linkage: int) -> float:
    if linkage == AVERAGE:
        return weight / sizes
    if linkage == COMPLETE and pairs < sizes:
        return 0.0
    return weight


@nb.njit(cache=True)
def _combined(one: float, other: float, linkage: int) -> float:
    if linkage == AVERAGE:
        return one + other
    return max(one, other) if linkage == SINGLE else min(one, other)


@nb.njit(cache=True)
def _agglomerate(
    n: int,
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    weight: NDArray[np.float64],
    linkage: int,
    lowest: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    edges = len(one)
    size = np.ones(n, dtype=np.int64)
    pairs = np.ones(edges, dtype=np.int64)  # pairs of rows that an edge between clusters stands for
    first, following, links, keys, numbers = _chains(n, one, other)
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
        if now <= lowest:  # for good: it only falls, and a missing pair stays missing
            length = _remove(heap, where, key, top, length)
            continue
        if now < key[top]:
            key[top] = now
            _sink(heap, where, key, 0, length)
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
                numbers[place_of(keys, _pair(a, c, n))] = GONE
                place = place_of(keys, _pair(b, c, n))
                known = numbers[place] if keys[place] != FREE else GONE
                if known != GONE and where[known] >= 0:
                    weight[known] = _combined(weight[known], weight[e], linkage)
                    pairs[known] += pairs[e]
                    length = _remove(heap, where, key, e, length)
                    key[known] = _similarity(weight[known], pairs[known], size[b] * size[c], linkage)
                    _rise(heap, where, key, where[known])
                    _sink(heap, where, key, where[known], length)
                else:
                    used += keys[place] == FREE
                    keys[place], numbers[place] = _pair(b, c, n), e
                    _hang(half, b, one, other, first, following, links)
                    if 2 * used > len(keys):
                        keys, numbers, used = grown(keys, numbers)
            half = after
    return left[:merges], right[:merges], similarity[:merges]


@nb.njit(cache=True)
def _pair(a: int, b: int, n: int) -> int:
    return min(a, b) * n + max(a, b)


@nb.njit(cache=True)
def _hang(
    half: int,
    cluster: int,
    one: NDArray[np.int32],
    other: NDArray[np.int32],
    first: NDArray[np.int64],
    following: NDArray[np.int64],
    links: NDArray[np.int64],
) -> None:
    """Hang a half-edge on a cluster: 2 e is the end one[e] of edge e, 2 e + 1 the end other[e]."""
    if half % 2 == 0:
        one[half // 2] = cluster
    else:
        other[half // 2] = cluster
    following[half], first[cluster] = first[cluster], half
    links[cluster] += 1


@nb.njit(cache=True)
def _chains(
    n: int, one: NDArray[np.int32], other: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the half-edges of each cluster as a chain, their number, and the table from pairs of clusters to edges."""
    first, following, links = np.full(n, -1), np.full(2 * len(one), -1), np.zeros(n, dtype=np.int64)
    keys, numbers = new_table(len(one) + 8)
    for e in range(len(one)):
        _hang(2 * e, one[e], one, other, first, following, links)
        _hang(2 * e + 1, other[e], one, other, first, following, links)
        place = place_of(keys, _pair(one[e], other[e], n))
        keys[place], numbers[place] = _pair(one[e], other[e], n), e
    return first, following, links, keys, numbers
