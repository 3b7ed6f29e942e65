r"""The merges of G-cut as its threshold falls from level to level, in one pass over the edges.

An edge (i, j) of score s belongs to level t, the first with threshold_t <= s. It matters only if no edges of levels up
to t have joined i and j by another way, and hardly any of the n k edges does. So

    1. the edges to the FEW nearest neighbours of each row, taken level by level, make a forest;
    2. its clusters, one each time they grow, make a tree; the rows in the order of its leaves: a cluster is an interval
           C = {r : first_C <= place_r < first_C + size_C};
    3. each row i walks along its other edges, and up the tree where one leads out of its cluster,
           place_j in the interval of the cluster of i at level t, or before it   =>   (i, j) joins nothing;
    4. the forest and the edges that are left, taken level by level, make the merges.

Step 3 reads the ends of edges in the order of memory, one number for each, and the scores of few. To go through all
rows at each level instead reads as much, but in a hundred rounds, each with new lines of the cache for nearly every
row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kinfolk._core.threads import deal
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.union_find import find

FEW = 3
ROWS = 1 << 14  # dealt to a worker at once


class Edges(NamedTuple):
    """Edges and the levels they belong to; shapes (e,) int32 each."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    level: NDArray[np.int32]


def merges_by_level(indices: NDArray[np.int32], scores: NDArray[np.float32], thresholds: NDArray[np.float32]) -> Merges:
    """Return the merges of G-cut as the threshold falls from level to level; each carries its level.

    Shapes: indices, scores (n, k), rows best first; thresholds (p,), falling. Memory: about 200 bytes a row.

    >>> scores = np.array([[0.9], [0.9], [0.4]], np.float32)
    >>> merges_by_level(np.array([[1], [0], [1]], np.int32), scores, np.array([0.8, 0.2], np.float32)).similarity
    array([0.8, 0.2], dtype=float32)
    """
    n, k = indices.shape
    few = min(FEW, k)
    edges = (indices, scores, thresholds, few)

    def in_blocks(chosen: Callable[..., tuple[NDArray[np.int32], ...]], *more: NDArray[Any]) -> list[Edges]:
        return deal(lambda start: Edges(*chosen(*edges, *more, start, min(start + ROWS, n))), range(0, n, ROWS))

    forest = _joining(n, in_blocks(_nearest_edges), len(thresholds))
    if few < k:
        tree = _tree(n, *forest, thresholds)
        forest = _joining(n, [forest, *in_blocks(_left_over, *tree)], len(thresholds))
    return Merges(forest.left, forest.right, thresholds[forest.level])


def _joining(n: int, parts: Sequence[Edges], levels: int) -> Edges:
    left, right, level = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Edges(*_forest(n, left, right, level, levels))


@nb.njit(cache=True)
def _level(score: np.float32, thresholds: NDArray[np.float32]) -> int:
    """Return the first level whose threshold the score reaches, or their number if there is none."""
    low, high = 0, len(thresholds)
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] > score:
            low = middle + 1
        else:
            high = middle
    return low


@nb.njit(nogil=True, cache=True)
def _nearest_edges(
    indices: NDArray[np.int32],
    scores: NDArray[np.float32],
    thresholds: NDArray[np.float32],
    few: int,
    start: int,
    stop: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges of the rows start to stop to their few nearest neighbours."""
    found = 0
    left, right, level = np.empty((3, (stop - start) * few), dtype=np.int32)
    for i in range(start, stop):
        for a in range(few):
            t = _level(scores[i, a], thresholds)
            if t == len(thresholds):
                break
            left[found], right[found], level[found] = i, indices[i, a], t
            found += 1
    return left[:found], right[:found], level[:found]


@nb.njit(cache=True)
def _forest(
    n: int, left: NDArray[np.int32], right: NDArray[np.int32], level: NDArray[np.int32], levels: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges that join something when they are taken level by level, in that order."""
    place = np.zeros(levels + 1, dtype=np.int64)
    for t in level:
        place[t + 1] += 1
    place = np.cumsum(place)  # of the next edge of each level
    ends = np.empty((len(level), 2), dtype=np.int32)
    for edge in range(len(level)):
        at = place[level[edge]]
        ends[at, 0], ends[at, 1] = left[edge], right[edge]
        place[level[edge]] += 1
    parent = np.arange(n).astype(np.int32)
    joining_left, joining_right, joining_level = np.empty((3, n), dtype=np.int32)
    found, t = 0, 0
    for edge in range(len(ends)):
        while edge == place[t]:  # by now where the level ends
            t += 1
        a, b = find(parent, ends[edge, 0]), find(parent, ends[edge, 1])
        if a != b:
            parent[max(a, b)] = min(a, b)
            joining_left[found], joining_right[found], joining_level[found] = ends[edge, 0], ends[edge, 1], t
            found += 1
    return joining_left[:found], joining_right[:found], joining_level[:found]


@nb.njit(cache=True)
def _tree(
    n: int,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    level: NDArray[np.int32],
    thresholds: NDArray[np.float32],
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the tree of the clusters of a forest: the n rows, then each cluster as often as it grows, once a level.

    Later ones hold earlier ones. Shapes (c,) each: holder int32, the next larger cluster or -1; until float32, edges of
    a lower score find the holder in its place; first and size int32, its interval of places.
    """
    holder = np.full(n + len(left), -1, dtype=np.int32)
    until = np.full(n + len(left), -np.inf, dtype=np.float32)
    parent = np.arange(n).astype(np.int32)
    cluster, grown = parent.copy(), np.full(n, -1, dtype=np.int32)  # of each root: before this level, and after it
    roots = np.empty(2 * len(left), dtype=np.int32)
    clusters, edge = n, 0
    while edge < len(left):
        t, before, count = level[edge], clusters, 0
        while edge < len(left) and level[edge] == t:
            a, b = find(parent, left[edge]), find(parent, right[edge])
            parent[max(a, b)] = min(a, b)
            roots[count], roots[count + 1] = a, b
            count, edge = count + 2, edge + 1
        for root in roots[:count]:
            now = find(parent, root)
            if grown[now] < before:
                grown[now] = clusters
                clusters += 1
            holder[cluster[root]] = grown[now]
            # edges of this level and of later ones: their scores are below the threshold before it
            until[cluster[root]] = thresholds[t - 1] if t > 0 else np.inf
        for root in roots[:count]:
            if parent[root] == root:
                cluster[root] = grown[root]
    size = np.zeros(clusters, dtype=np.int32)
    size[:n] = 1
    for inner in range(clusters):
        if holder[inner] >= 0:
            size[holder[inner]] += size[inner]
    first, free, end = np.empty(clusters, dtype=np.int32), np.empty(clusters, dtype=np.int32), 0
    for inner in range(clusters - 1, -1, -1):  # holders come before what they hold
        outer = holder[inner]
        first[inner] = free[inner] = end if outer < 0 else free[outer]
        if outer < 0:
            end += size[inner]
        else:
            free[outer] += size[inner]
    return holder[:clusters], until[:clusters], first, size


@nb.njit(nogil=True, cache=True)
def _left_over(
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
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges of the rows start to stop, without the few nearest, whose ends the forest has not yet joined."""
    k, found = indices.shape[1], 0
    edges = np.empty((3, 8 * k), dtype=np.int32)
    for i in range(start, stop):
        if found + k > edges.shape[1]:
            edges = np.concatenate((edges, np.empty_like(edges)), axis=1)
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
            t = _level(score, thresholds)
            if t == len(thresholds):
                break
            edges[0, found], edges[1, found], edges[2, found] = i, j, t
            found += 1
    return edges[0, :found], edges[1, :found], edges[2, :found]
