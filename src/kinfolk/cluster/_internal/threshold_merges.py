r"""The merges of G-cut as its threshold falls, for many thresholds in one pass over the edges.

Thresholds are sorted, highest first. The rank of an edge (i, j) of score s is the first t with threshold_t <= s: the
cut at which it counts. It matters only if no other path of edges of rank <= t joins i and j, and hardly any of the n k
edges does. So

    1. the edges to the FOREST_NEIGHBORS nearest neighbours of each row, in the order of their ranks, give a forest;
    2. the clusters of the forest, one node each time they grow, form a tree; rows are numbered in the order of its
       leaves, so that a cluster C is an interval,
           C = {r : first_C <= leaf_r < first_C + size_C};
    3. for each row i and its other edges (i, j) of rank t,
           leaf_j in the interval of i's cluster at rank t   =>   (i, j) is redundant;
    4. the forest and the remaining edges, in the order of their ranks, give the merges.

Step 3 reads the ends of edges in memory order, one number for each, and the scores of few. A pass over all rows for
each threshold would read as much a hundred times over, with a cache miss for nearly every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.union_find import find

FOREST_NEIGHBORS = 3  # with fewer the forest leaves many edges to step 3, with more step 1 takes longer
BLOCK_ROWS = 1 << 14  # of one task of a worker


class RankedEdges(NamedTuple):
    """Edges and their ranks; shapes (e,) int32 each."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    rank: NDArray[np.int32]


def merges_at_thresholds(
    indices: NDArray[np.int32], scores: NDArray[np.float32], thresholds: NDArray[np.float32]
) -> Merges:
    """Return the merges of G-cut as the threshold falls; the similarity of each is the threshold at which it happens.

    Shapes: indices, scores (n, k), rows best first; thresholds (p,), falling. Memory: about 200 bytes a row.

    >>> scores = np.array([[0.9], [0.9], [0.4]], np.float32)
    >>> thresholds = np.array([0.8, 0.2], np.float32)
    >>> merges_at_thresholds(np.array([[1], [0], [1]], np.int32), scores, thresholds).similarity
    array([0.8, 0.2], dtype=float32)
    """
    indices, scores = (np.ascontiguousarray(indices, np.int32), np.ascontiguousarray(scores, np.float32))
    thresholds = np.ascontiguousarray(thresholds, np.float32)
    n, k = indices.shape
    few = min(FOREST_NEIGHBORS, k)
    edges = (indices, scores, thresholds, few)

    def in_blocks(chosen: Callable[..., tuple[NDArray[np.int32], int]], *more: NDArray[Any]) -> list[RankedEdges]:
        def block(start: int) -> RankedEdges:
            found, count = chosen(*edges, *more, start, min(start + BLOCK_ROWS, n))
            return RankedEdges(*found[:, :count])

        return deal(block, range(0, n, BLOCK_ROWS))

    forest = _forest(n, in_blocks(_nearest_edges), len(thresholds))
    if few < k:
        tree = _cluster_tree(n, forest, thresholds)
        forest = _forest(n, [forest, *in_blocks(_edges_across_clusters, *tree)], len(thresholds))
    return Merges(forest.left, forest.right, thresholds[forest.rank])


def _forest(n: int, parts: Sequence[RankedEdges], ranks: int) -> RankedEdges:
    """Return the edges that join two clusters when all are taken in the order of their ranks, in that order."""
    left, right, rank = (np.concatenate(column) for column in zip(*parts, strict=True))
    end_of_rank = np.append(0, np.cumsum(np.bincount(rank, minlength=ranks)))
    order = np.empty(len(rank), dtype=np.int32)
    parent, joining = np.arange(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    count = _spanning_edges(left, right, rank, end_of_rank[:-1].copy(), order, parent, joining)
    kept = joining[:count]
    return RankedEdges(left[kept], right[kept], rank[kept])


@kernel()
def _spanning_edges(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    rank: NDArray[np.int32],
    place: NDArray[np.int64],
    order: NDArray[np.int32],
    parent: NDArray[np.int32],
    joining: NDArray[np.int32],
) -> int:
    """Write the edges that join something into `joining` and return their number; place: first one of each rank."""
    for edge in range(len(rank)):  # counting sort
        order[place[rank[edge]]] = edge
        place[rank[edge]] += 1
    found = 0
    for edge in order:
        a, b = find(parent, left[edge]), find(parent, right[edge])
        if a != b:
            parent[max(a, b)] = min(a, b)
            joining[found] = edge
            found += 1
    return found


@kernel()
def _rank(score: np.float32, thresholds: NDArray[np.float32]) -> int:
    """Return the first threshold that the score reaches, or their number if there is none."""
    low, high = 0, len(thresholds)
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] > score:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def _nearest_edges(
    indices: NDArray[np.int32],
    scores: NDArray[np.float32],
    thresholds: NDArray[np.float32],
    few: int,
    start: int,
    stop: int,
) -> tuple[NDArray[np.int32], int]:
    """Return the edges of the rows start to stop to their few nearest neighbours, (3, room), and their number."""
    found = 0
    edges = np.empty((3, (stop - start) * few), dtype=np.int32)
    for i in range(start, stop):
        for a in range(few):
            t = _rank(scores[i, a], thresholds)
            if t == len(thresholds):
                break
            edges[0, found], edges[1, found], edges[2, found] = i, indices[i, a], t
            found += 1
    return edges, found


def _cluster_tree(
    n: int, forest: RankedEdges, thresholds: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the tree of the clusters of a forest: the n rows, then each cluster once for each rank at which it grows.

    Larger clusters come later. Shapes (c,) each: holder int32, the next larger cluster or -1; until float32, edges of a
    lower score belong to the holder; first and size int32, the interval of leaves.
    """
    nodes = n + len(forest.left)
    holder, until = (np.full(nodes, -1, dtype=np.int32), np.full(nodes, -np.inf, dtype=np.float32))
    parent, grown = np.arange(n, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    roots = np.empty(2 * len(forest.left), dtype=np.int32)
    above = np.append(np.float32(np.inf), thresholds[:-1])  # scores of rank t are below the threshold before t
    clusters = _grow_clusters(*forest, above, parent, parent.copy(), grown, roots, holder, until)
    holder = holder[:clusters]
    size, first, free = (np.zeros(clusters, dtype=np.int32) for _ in range(3))
    size[:n] = 1
    _intervals(holder, size, first, free)
    return holder, until[:clusters], first, size


@kernel()
def _grow_clusters(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    rank: NDArray[np.int32],
    above: NDArray[np.float32],
    parent: NDArray[np.int32],
    cluster: NDArray[np.int32],
    grown: NDArray[np.int32],
    roots: NDArray[np.int32],
    holder: NDArray[np.int32],
    until: NDArray[np.float32],
) -> int:
    """Fill holder and until; return the number of nodes. cluster, grown (n,): a root's node before and after a rank."""
    clusters, edge = len(parent), 0
    while edge < len(left):
        t, before, count = rank[edge], clusters, 0
        while edge < len(left) and rank[edge] == t:
            a, b = find(parent, left[edge]), find(parent, right[edge])
            parent[max(a, b)] = min(a, b)
            roots[count], roots[count + 1] = a, b
            count, edge = count + 2, edge + 1
        for at in range(count):
            root = find(parent, roots[at])
            if grown[root] < before:
                grown[root] = clusters
                clusters += 1
            holder[cluster[roots[at]]] = grown[root]
            until[cluster[roots[at]]] = above[t]
        for at in range(count):
            if parent[roots[at]] == roots[at]:
                cluster[roots[at]] = grown[roots[at]]
    return clusters


@kernel()
def _intervals(
    holder: NDArray[np.int32], size: NDArray[np.int32], first: NDArray[np.int32], free: NDArray[np.int32]
) -> None:
    """Fill the interval of each cluster; free (c,): the first leaf of a cluster that none of its parts has."""
    end = 0
    for inner in range(len(holder)):
        if holder[inner] >= 0:
            size[holder[inner]] += size[inner]
    for inner in range(len(holder) - 1, -1, -1):  # holders have higher numbers than what they hold
        outer = holder[inner]
        first[inner] = free[inner] = end if outer < 0 else free[outer]
        if outer < 0:
            end += size[inner]
        else:
            free[outer] += size[inner]


@kernel()
def _edges_across_clusters(
    indices: NDArray[np.int32],
    scores: NDArray[np.float32],
    thresholds: NDArray[np.float32],
    few: int,
    holder: NDArray[np.int32],
    until: NDArray[np.float32],
    first: NDArray[np.int32],
    size: NDArray[np.int32],
    start: int,
    stop: int,
) -> tuple[NDArray[np.int32], int]:
    """Return the edges of the rows start to stop, without the few nearest, that leave their cluster of that rank."""
    k, found = indices.shape[1], 0
    edges = np.empty((3, 8 * k), dtype=np.int32)
    for i in range(start, stop):
        if found + k > edges.shape[1]:
            larger = np.empty((3, 2 * edges.shape[1]), dtype=np.int32)
            for line in range(3):
                for edge in range(found):
                    larger[line, edge] = edges[line, edge]
            edges = larger
        cluster, begin, members = i, first[i], np.uint32(1)
        for a in range(few, k):
            j = indices[i, a]
            if np.uint32(first[j] - begin) < members:  # below the interval it wraps round to a large number
                continue
            score = scores[i, a]
            if score < until[cluster]:
                while score < until[cluster]:
                    cluster = holder[cluster]
                begin, members = first[cluster], np.uint32(size[cluster])
                if np.uint32(first[j] - begin) < members:
                    continue
            t = _rank(score, thresholds)
            if t == len(thresholds):
                break
            edges[0, found], edges[1, found], edges[2, found] = i, j, t
            found += 1
    return edges, found
