"""Guards against one giant cluster: a size limit, and merges that need more than one edge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.union_find import find, roots
from kinfolk.neighbors import NeighborGraph

NO_LIMIT = np.iinfo(np.int64).max


def split_large(labels: NDArray[np.integer], g: NeighborGraph, max_size: int) -> NDArray[np.int64]:
    """Return labels without a cluster above `max_size`: rows of larger ones are joined anew, most similar edge first.

    Memory: 12 bytes for each edge within the clusters that are too large.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.3], [0, 1]], k=2)
    >>> split_large(np.zeros(4, dtype=int), g, 2)
    array([0, 0, 1, 1])
    """
    sizes = np.bincount(labels[labels >= 0])
    large = (labels >= 0) & (sizes[labels] > max_size)
    own = np.where(large, labels, -1)
    inside = (own[g.indices] == own[:, None]) & large[:, None]
    sources, targets = edges_by_score(g, np.asarray(g.similarities), inside)
    joined = join_with_limit(len(labels), sources, targets, max_size)
    result = labels.astype(np.int64)
    result[large] = len(sizes) + joined[large]
    return np.where(result >= 0, np.unique(result, return_inverse=True)[1], -1)


def edges_by_score(
    g: NeighborGraph, scores: NDArray[np.float32], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return sources and targets of the chosen edges, highest score first, in row order among equals.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.3]], k=1)
    >>> edges_by_score(g, g.similarities, g.similarities > 0.98)[0]
    array([0, 1, 2], dtype=int32)
    """
    rows, columns = np.nonzero(chosen)
    order = np.argsort(-scores[rows, columns], kind="stable")
    rows = rows[order]
    return rows.astype(np.int32), np.asarray(g.indices)[rows, columns[order]]


def join_with_limit(
    n: int, sources: NDArray[np.int32], targets: NDArray[np.int32], max_size: int = NO_LIMIT
) -> NDArray[np.int32]:
    """Join along edges in their order; an edge that would make a cluster larger than `max_size` is skipped.

    >>> join_with_limit(4, np.array([0, 1, 2], np.int32), np.array([1, 2, 3], np.int32), 2)
    array([0, 0, 2, 2], dtype=int32)
    """
    parent, size = np.arange(n, dtype=np.int32), np.ones(n, dtype=np.int64)
    _join(sources, targets, parent, size, max_size, n + 1)
    return roots(parent)


def join_with_guard(
    n: int,
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    guard: float,
    from_size: int,
    max_size: int = NO_LIMIT,
) -> NDArray[np.int32]:
    """Join along edges in their order, but two clusters of at least `from_size` rows only if enough edges link them.

    Enough: `guard` edges for each row of the smaller cluster. All other edges are joined first; then pairs of clusters
    that are each other's best linked ones are merged, until no pair has enough edges.

    Two pairs of rows and one edge between them:

    >>> sources, targets = np.array([0, 2, 1], np.int32), np.array([1, 3, 2], np.int32)
    >>> join_with_guard(4, sources, targets, guard=1.0, from_size=2)
    array([0, 0, 2, 2], dtype=int32)
    """
    parent, size = np.arange(n, dtype=np.int32), np.ones(n, dtype=np.int64)
    refused = _join(sources, targets, parent, size, max_size, from_size)
    sources, targets = sources[refused], targets[refused]
    while len(sources):
        root = roots(parent)
        a, b = root[sources], root[targets]
        apart = a != b
        sources, targets = sources[apart], targets[apart]
        low, high = np.minimum(a, b)[apart].astype(np.int64), np.maximum(a, b)[apart]
        pairs, links = np.unique(low * n + high, return_counts=True)
        low, high = pairs // n, pairs % n
        share = links / np.minimum(size[low], size[high])
        allowed = (share >= guard) & (size[low] + size[high] <= max_size)
        low, high, share = low[allowed], high[allowed], share[allowed]
        best = np.zeros(n)
        np.maximum.at(best, low, share)
        np.maximum.at(best, high, share)
        mutual = (best[low] == share) & (best[high] == share)
        if not mutual.any():
            break
        _join(low[mutual].astype(np.int32), high[mutual].astype(np.int32), parent, size, max_size, n + 1)
    return roots(parent)


@kernel()
def _join(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    parent: NDArray[np.int32],
    size: NDArray[np.int64],
    max_size: int,
    from_size: int,
) -> NDArray[np.bool_]:
    """Join where the limits allow it; return the edges refused because both clusters have `from_size` rows."""
    refused = np.zeros(len(sources), dtype=np.bool_)
    for edge in range(len(sources)):
        a, b = find(parent, sources[edge]), find(parent, targets[edge])
        if a == b or size[a] + size[b] > max_size:
            continue
        if size[a] >= from_size and size[b] >= from_size:
            refused[edge] = True
            continue
        low, high = min(a, b), max(a, b)
        parent[high] = low
        size[low] += size[high]
    return refused
