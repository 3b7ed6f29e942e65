"""Overlapping sub-graphs: an order in which near probes follow each other, and attention on shared cosines.

Neighbours share neighbours: the P sub-graphs of L rows of near probes have U distinct nodes, far fewer than P L, and
U^2 cosines serve all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel

_TINY = 1e-12  # lengths below it count as this: a row of zeros stays a row of zeros


@kernel()
def near_order(indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of the probes in which near ones follow each other, in O(m k): indices (m, k) -> (m,).

    A walk from a probe to the nearest of its neighbours not visited yet; where there is none, it continues at the first
    probe not visited yet.

    >>> near_order(np.array([[2, 1], [3, 2], [0, 3], [1, 0]])).tolist()
    [0, 2, 3, 1]
    """
    m = len(indices)
    visited = np.zeros(m, dtype=np.bool_)
    order = np.empty(m, dtype=np.int64)
    found = 0
    for first in range(m):
        at = first
        while at >= 0 and not visited[at]:
            visited[at] = True
            order[found] = at
            found += 1
            onward = -1
            for neighbor in indices[at]:
                if neighbor < m and not visited[neighbor]:
                    onward = neighbor
                    break
            at = onward
    return order


@kernel()
def overlapping_runs(nodes: NDArray[np.int64], most: float) -> NDArray[np.int64]:
    """Return how many consecutive sub-graphs of nodes (P, L) share their cosines, (runs,) that sum up to P.

    A sub-graph joins the run before it if it adds at most `most` L^2 pairs to the U^2 of the run.

    >>> overlapping_runs(np.array([[0, 1, 2], [1, 2, 0], [5, 6, 7]]), 1.0)
    array([2, 1])
    """
    _, places = distinct(nodes)
    last_run = np.full(nodes.size, -1)
    sizes = np.zeros(len(nodes), dtype=np.int64)
    run, union, pairs = 0, 0, most * nodes.shape[1] ** 2
    for p in range(len(places)):
        new = 0
        for place in places[p]:
            new += last_run[place] != run
        if sizes[run] and (union + new) ** 2 - union**2 > pairs:
            run, union, new = run + 1, 0, places.shape[1]
        last_run[places[p]] = run
        union += new
        sizes[run] += 1
    return sizes[: run + 1]


@kernel()
def distinct(nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct nodes of (P, L) in order of appearance, (U,), and the place of each node there, (P, L).

    np.unique with its inverse, by a hash table instead of sorting.

    >>> distinct(np.array([[7, 2], [2, 5]]))
    (array([7, 2, 5]), array([[0, 1],
           [1, 2]]))
    """
    size = 2
    while size < 2 * nodes.size:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    unique, places = np.empty(nodes.size, dtype=np.int64), np.empty(nodes.shape, dtype=np.int64)
    count = 0
    for p in range(nodes.shape[0]):
        for i in range(nodes.shape[1]):
            slot = nodes[p, i] * 0x9E3779B1 & (size - 1)
            while table[slot] >= 0 and unique[table[slot]] != nodes[p, i]:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot], unique[count] = count, nodes[p, i]
                count += 1
            places[p, i] = table[slot]
    return unique[:count].copy(), places


@kernel(fastmath={"reassoc", "contract"})
def rows_and_directions(
    features: NDArray[np.float32], nodes: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the rows of the nodes (U,) in features (N, dim), and the same rows of length one, (U, dim) each.

    >>> rows_and_directions(np.array([[0.0, 2.0], [0.0, 0.0], [3.0, 4.0]]), np.array([2, 1]))
    (array([[3., 4.],
           [0., 0.]]), array([[0.6, 0.8],
           [0. , 0. ]]))
    """
    x = np.empty((len(nodes), features.shape[1]), dtype=features.dtype)
    directions = np.empty_like(x)
    for u in range(len(nodes)):
        row = features[nodes[u]]
        squares = features.dtype.type(0)
        for d in range(len(row)):
            x[u, d] = row[d]
            squares += row[d] * row[d]
        scale = features.dtype.type(1 / max(np.sqrt(squares), _TINY))
        for d in range(len(row)):
            directions[u, d] = row[d] * scale
    return x, directions


@kernel(fastmath={"reassoc", "contract"})
def attend_probes(
    cosines: NDArray[np.float32],
    x: NDArray[np.float32],
    places: NDArray[np.int64],
    queries: NDArray[np.float32],
    quartet_weight: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return softmax(q_0 X^T + a_0 N A_X^T) X of each probe, the first row of its sub-graph: (P, dim).

    Shapes: cosines (U, U) and rows x (U, dim) of U nodes, places (P, L) of each sub-graph's rows among them, queries
    q_0 = x_0 M (P, dim), or (P, 0) without self attention, quartet_weight N (L, L). A_X (L, L) are the cosines of a
    sub-graph, its rows of length one.

    >>> cosines, x = np.array([[1.0, 0.75], [0.75, 1.0]]), np.array([[2.0], [4.0]])
    >>> attend_probes(cosines, x, np.array([[0, 1]]), np.zeros((1, 1)), np.zeros((2, 2)))
    array([[3.]])
    """
    count, size = places.shape
    one = cosines.dtype.type(1)
    own, weighted, scores = np.empty((3, size), dtype=cosines.dtype)
    result = np.zeros((count, x.shape[1]), dtype=cosines.dtype)
    for p in range(count):
        mine = places[p]
        squares = cosines.dtype.type(0)
        for i in range(size):
            own[i] = cosines[mine[0], mine[i]]
            squares += own[i] * own[i]
        weighted[:] = 0
        for i in range(size):
            part = own[i]
            for j in range(size):
                weighted[j] += part * quartet_weight[i, j]
        weighted *= one / max(np.sqrt(squares), _TINY)
        for j in range(size):
            row, here = cosines[mine[j]], x[mine[j]]
            squares, quartet, self_score = cosines.dtype.type(0), cosines.dtype.type(0), cosines.dtype.type(0)
            for i in range(size):
                cosine = row[mine[i]]
                squares += cosine * cosine
                quartet += weighted[i] * cosine
            for d in range(queries.shape[1]):
                self_score += queries[p, d] * here[d]
            scores[j] = self_score + quartet / max(np.sqrt(squares), _TINY)
        scores[:] = np.exp(scores - scores.max())
        scores *= one / scores.sum()
        mixed = result[p]
        for j in range(size):
            weight, here = scores[j], x[mine[j]]
            for d in range(len(here)):
                mixed[d] += weight * here[d]
    return result


@kernel()
def blocks(matrix: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the rows and columns of the matrix (U, U) at the places (P, L) of each sub-graph, (P, L, L).

    >>> blocks(np.arange(9).reshape(3, 3), np.array([[2, 0]])).tolist()
    [[[8, 6], [2, 0]]]
    """
    count, size = places.shape
    result = np.empty((count, size, size), dtype=matrix.dtype)
    for p in range(count):
        for i in range(size):
            row = matrix[places[p, i]]
            for j in range(size):
                result[p, i, j] = row[places[p, j]]
    return result
