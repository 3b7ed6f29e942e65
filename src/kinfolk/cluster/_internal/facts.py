r"""Facts about a clustering that need no labels: what `kinfolk.cluster._internal.judge` judges by.

Similarities are counted in units of pairs of any two rows, z = (s - mu) / sd, so that they mean the same on any data.
For each row: a, the mean similarity to the others of its cluster; b, the highest mean similarity to another cluster
among those of its neighbours. Further: how many of its nearest neighbours are in its cluster, how early they come, and
how many neighbours it shares with those inside and with those outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kinfolk._core.kernels import kernel, over_spans

NEIGHBORS = 64  # read of each row
SHARED_AT = (8, 32)  # neighbourhoods whose common members are counted
MOST_ROWS = 4096  # read of a larger set: the facts are shares and quantiles
MOST_CLUSTERS = 12  # around a row that are compared with its own
RANDOM_PAIRS = 20_000
WIDE, NARROW = (10, 25, 50, 75, 90), (10, 50, 90)  # per cent
SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
COUNT = 67


class Scene(NamedTuple):
    """What all clusterings of a set are seen against.

    Shapes: X (n, d) rows of length one; rows (m,) those that are read; indices, similarities (m, k) their neighbours;
    shared: for each of SHARED_AT (m, k), the share of neighbours in common; mean, spread: of the similarity of any two.
    """

    X: NDArray[np.float32]
    rows: NDArray[np.int64]
    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]
    shared: list[NDArray[np.float32]]
    mean: float
    spread: float


def scene(X: NDArray[np.float32], indices: NDArray[np.int32], similarities: NDArray[np.float32]) -> Scene:
    """Return the scene of rows (n, d) of length one and their k nearest neighbours (n, k), of which 64 are read."""
    n = len(X)
    rng = np.random.default_rng(0)
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
    indices = np.ascontiguousarray(indices[:, :NEIGHBORS], dtype=np.int32)
    shared = [_shared(indices, rows, min(at, indices.shape[1])) for at in SHARED_AT]
    mean, spread = random_pairs(X)
    return Scene(X, rows, indices[rows], np.asarray(similarities[rows, :NEIGHBORS]), shared, mean, spread)


def random_pairs(X: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean and the spread of the similarity of two rows.

    >>> mean, spread = random_pairs(np.eye(4, dtype=np.float32))
    >>> mean
    0.0
    """
    one, other = np.random.default_rng(0).integers(0, len(X), (2, RANDOM_PAIRS))
    different = one != other
    similarity = np.einsum("ij,ij->i", X[one[different]], X[other[different]])
    return float(similarity.mean()), float(similarity.std()) + 1e-4  # rows that are all alike have no spread


def facts(scene: Scene, labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the facts (67,) about clusters (n,) numbered 0, 1, 2, ..."""
    n, rows = len(labels), scene.rows
    counts = np.bincount(labels)
    own = counts[labels[rows]]
    alone = own == 1
    a, b, _ = similarity_to_clusters(scene, labels, counts)
    same = labels[scene.indices] == labels[rows][:, None]
    z, to_own, to_other = (_units(scene, values) for values in (scene.similarities, a, b))
    gap = (a - b) / (1 - scene.mean)
    joined = ~alone
    found = [
        np.log(n),
        np.log(len(counts) / n),
        alone.mean(),
        *((own <= size).mean() for size in SIZES),
        np.log(own).mean(),
        np.log(own).std(),
        counts.max() / n,
        scene.mean,
        np.log(scene.spread),
        *_quantiles(to_own[joined], WIDE),
        *_quantiles(to_other[joined], WIDE),
        *_quantiles(gap[joined], WIDE),
        (a < b)[joined].mean() if joined.any() else 0.0,
        *_quantiles(to_other[alone], NARROW),
        *(same[:, :nearest].mean() for nearest in (1, 4, 16, 64)),
        *_quantiles(z[same], NARROW),
        *_quantiles(z[~same], NARROW),
        (~same).mean(),
        *(value for shared in scene.shared for value in _inside_and_outside(shared, same)),
        *_order(same),
        *_cluster_gaps(scene, labels[rows], a, b),
    ]
    return np.nan_to_num(np.array(found, dtype=np.float32))


def agreement(clusterings: list[NDArray[np.integer]]) -> NDArray[np.float32]:
    """Return how well each two of c clusterings (n,) agree, (c, c): the mean of pairwise and BCubed F on 2,048 rows."""
    rows = np.random.default_rng(0).permutation(len(clusterings[0]))[: MOST_ROWS // 2]
    numbered = [np.unique(labels[rows], return_inverse=True)[1] for labels in clusterings]
    result = np.ones((len(clusterings), len(clusterings)), dtype=np.float32)
    for i, one in enumerate(numbered):
        for j in range(i):
            result[i, j] = result[j, i] = _f(one, numbered[j])
    return result


def _f(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    wide = int(other.max()) + 1
    cells, c = np.unique(one * wide + other, return_counts=True)
    a, b = np.bincount(one).astype(float), np.bincount(other).astype(float)
    ca, cb, c = a[cells // wide], b[cells % wide], c.astype(float)
    pairs, in_a, in_b = (c * (c - 1)).sum(), (a * (a - 1)).sum(), (b * (b - 1)).sum()
    precision, recall = pairs / max(in_b, 1), pairs / max(in_a, 1)
    pairwise = 2 * precision * recall / max(precision + recall, 1e-12)
    precision, recall = (c * c / cb).sum() / len(one), (c * c / ca).sum() / len(one)
    return float(pairwise + 2 * precision * recall / (precision + recall)) / 2


def _units(scene: Scene, similarity: NDArray[np.floating]) -> NDArray[np.floating]:
    return (similarity - scene.mean) / scene.spread


def _quantiles(values: NDArray[np.floating], percent: tuple[int, ...]) -> NDArray[np.floating]:
    return np.percentile(values, percent) if len(values) else np.zeros(len(percent))


def _inside_and_outside(values: NDArray[np.float32], same: NDArray[np.bool_]) -> list[float]:
    return [*_quantiles(values[same], NARROW), *_quantiles(values[~same], NARROW)]


def _order(same: NDArray[np.bool_]) -> list[float]:
    """Return the share of rows with neighbours inside and outside, and how surely those inside come first."""
    inside = same.sum(axis=1)
    outside = same.shape[1] - inside
    mixed = (inside > 0) & (outside > 0)
    ranks = (same * np.arange(same.shape[1])).sum(axis=1)
    first = 1 - (ranks - inside * (inside - 1) / 2) / np.maximum(inside * outside, 1)
    return [mixed.mean(), *_quantiles(first[mixed], NARROW)]


def _cluster_gaps(
    scene: Scene, labels: NDArray[np.integer], a: NDArray[np.float32], b: NDArray[np.float32]
) -> list[float]:
    """Return quantiles, mean and spread of a - b of each row's cluster."""
    counts = np.maximum(np.bincount(labels), 1)
    mean_a, mean_b = np.bincount(labels, a) / counts, np.bincount(labels, b) / counts
    gap = ((mean_a - mean_b) / (1 - scene.mean))[labels]
    return [*_quantiles(gap, NARROW), gap.mean(), gap.std()]


def similarity_to_clusters(
    scene: Scene, labels: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Return a and b (m,) and the cluster of b (m,).

    For a row alone a is the similarity of its nearest; without another cluster b is mu, and the cluster -1.
    """
    n, rows, X = len(labels), scene.rows, scene.X
    members = csr_array((np.ones(n, np.float32), (labels, np.arange(n))), shape=(len(counts), n))
    sums = np.asarray(members @ X)
    own, mine = counts[labels[rows]], X[rows]
    a = (np.einsum("ij,ij->i", sums[labels[rows]], mine) - 1) / np.maximum(own - 1, 1)
    a = np.where(own == 1, scene.similarities[:, 0], a)
    b = np.empty(len(rows), dtype=np.float32)
    which = np.full(len(rows), -1, dtype=np.int64)
    arguments = (scene.indices, labels, labels[rows], sums, counts.astype(np.float32), mine, b, which)
    over_spans(lambda first, last: _best_other(first, last, *arguments), len(rows))
    return a, np.where(b < -1.5, np.float32(scene.mean), b), which


@kernel(fastmath={"reassoc", "contract"})
def _best_other(
    first: int,
    last: int,
    indices: NDArray[np.int32],
    labels: NDArray[np.int64],
    own: NDArray[np.int64],
    sums: NDArray[np.float32],
    counts: NDArray[np.float32],
    X: NDArray[np.float32],
    best: NDArray[np.float32],
    which: NDArray[np.int64],
) -> None:
    seen = np.empty(len(counts), np.int64)
    seen[:] = -1
    for i in range(first, last):
        best[i], tried = -2, 0
        seen[own[i]] = i
        for a in range(indices.shape[1]):
            c = labels[indices[i, a]]
            if seen[c] == i:
                continue
            seen[c] = i
            similarity = np.float32(0)
            for column in range(X.shape[1]):
                similarity += sums[c, column] * X[i, column]
            if similarity / counts[c] > best[i]:
                best[i], which[i] = similarity / counts[c], c
            tried += 1
            if tried == MOST_CLUSTERS:
                break


def _shared(indices: NDArray[np.int32], rows: NDArray[np.int64], wide: int) -> NDArray[np.float32]:
    """Return (m, k) how much the neighbourhoods of rows (m,) and of their neighbours, with themselves, share."""
    result = np.empty((len(rows), indices.shape[1]), dtype=np.float32)
    over_spans(lambda first, last: _count_shared(first, last, indices, rows, wide, result), len(rows))
    return result


@kernel()
def _count_shared(
    first: int,
    last: int,
    indices: NDArray[np.int32],
    rows: NDArray[np.int64],
    wide: int,
    result: NDArray[np.float32],
) -> None:
    met = np.empty(len(indices), np.int64)
    met[:] = -1
    for i in range(first, last):
        row = rows[i]
        met[row] = i
        for a in range(wide):
            met[indices[row, a]] = i
        for a in range(indices.shape[1]):
            neighbor = indices[row, a]
            count = 1 if met[neighbor] == i else 0
            for e in range(wide):
                count += met[indices[neighbor, e]] == i
            result[i, a] = count / (wide + 1)
