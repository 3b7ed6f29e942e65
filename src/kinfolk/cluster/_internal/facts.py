r"""Facts about a clustering that need no labels: what `kinfolk.cluster._internal.judge` judges by.

Similarities are counted in units of strangers, z = (s - median) / (median - 16th percentile) of random pairs, so that
they mean the same on any data.
For each row: a, the mean similarity to the others of its cluster; b, the highest mean similarity to another cluster
among those of its neighbours. Further: how many of its nearest neighbours are in its cluster, how early they come, and
how many neighbours it shares with those inside and with those outside.

Many clusterings are seen against one `Scene`: what does not depend on the clustering is computed once, and the rest is
counts in one pass over the neighbours of a sample of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel, over_spans
from kinfolk.cluster._internal.means import sums_of

NEIGHBORS = 64  # read of each row
SHARED_AT = (8, 32)  # neighbourhoods whose common members are counted
MOST_ROWS = 2048  # read of a larger set: the facts are shares and quantiles
MOST_CLUSTERS = 12  # around a row that are compared with its own
RANDOM_PAIRS = 20_000
BINS = 256  # of similarities, equally full: quantiles are read off them
WIDE, NARROW = (10, 25, 50, 75, 90), (10, 50, 90)  # per cent
NEAREST = (1, 4, 16, 64)
SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
TAIL = (84, 95, 99, 99.8)  # per cent of random pairs: kin, and look-alikes, are among the most similar ones
COUNT = 71


class Strangers(NamedTuple):
    """How similar two rows are that have nothing to do with each other.

    middle: the median over random pairs; spread: how far the lower sixth is below it. Kin are few among random pairs
    and above the middle: however large classes are, they change both less than mean and standard deviation. tail:
    (len(TAIL),) where the most similar pairs are, in these units.
    """

    middle: float
    spread: float
    tail: NDArray[np.floating]


class View(NamedTuple):
    """Some rows and their neighbours.

    Shapes: X (n, d) rows of length one; rows (m,) those that are read; indices, similarities (m, k) their neighbours;
    strangers: what is known of the similarity of any two of the n.
    """

    X: NDArray[np.float32]
    rows: NDArray[np.int64]
    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]
    strangers: Strangers

    def gap(self, a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return how far a is above b, as a share of what there is above strangers."""
        return (a - b) / max(1 - self.strangers.middle, self.strangers.spread)

    def units(self, similarity: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return similarities in units of strangers."""
        return (similarity - self.strangers.middle) / self.strangers.spread


class Scene(NamedTuple):
    """What all clusterings of a set are seen against.

    Shapes: bins (m, k) of the similarities of the view, heights (BINS,) their middles in units; shared: for each of
    SHARED_AT (m, k), the neighbours in common.
    """

    view: View
    bins: NDArray[np.int16]
    heights: NDArray[np.float64]
    shared: tuple[NDArray[np.int16], NDArray[np.int16]]


class Tally(NamedTuple):
    """Counts over the neighbours of the rows that are read, outside (0) and inside (1) of their clusters.

    Shapes: heights (2, BINS), shared: for each of SHARED_AT (2, .. + 2); inside, ranks (m,), how many neighbours are
    inside and the sum of their ranks; nearest (len(NEAREST),) how many of the nearest are inside.
    """

    heights: NDArray[np.int64]
    shared: tuple[NDArray[np.int64], NDArray[np.int64]]
    inside: NDArray[np.int64]
    ranks: NDArray[np.int64]
    nearest: NDArray[np.int64]


def scene(X: NDArray[np.float32], indices: NDArray[np.int32], similarities: NDArray[np.float32]) -> Scene:
    """Return the scene of rows (n, d) of length one and their k nearest neighbours (n, k), of which 64 are read."""
    n = len(X)
    rng = np.random.default_rng(0)
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
    indices = np.ascontiguousarray(indices[:, :NEIGHBORS], dtype=np.int32)
    near, far = (_shared(indices, rows, min(at, indices.shape[1])) for at in SHARED_AT)
    view = View(X, rows, indices[rows], np.ascontiguousarray(similarities[rows, :NEIGHBORS]), strangers_of(X))
    return Scene(view, *_bins(view.units(view.similarities)), (near, far))


def random_rows(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of different ones of n rows, always the same for the same n."""
    one, other = np.random.default_rng(0).integers(0, n, (2, RANDOM_PAIRS))
    different = one != other
    return one[different], other[different]


def strangers_of(X: NDArray[np.float32]) -> Strangers:
    """Return how similar strangers are among rows (n, d) of length one.

    >>> found = strangers_of(np.eye(4, dtype=np.float32))
    >>> found.middle
    0.0
    """
    one, other = random_rows(len(X))
    low, middle, *high = np.percentile(np.einsum("ij,ij->i", X[one], X[other]), (16, 50, *TAIL))
    spread = float(middle - low) + 1e-4  # rows that are all alike have no spread
    return Strangers(float(middle), spread, (np.array(high) - middle) / spread)


def facts(scene: Scene, labels: NDArray[np.int64], sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the facts (71,) about clusters (n,) numbered 0, 1, 2, ...; sums (c, d): of the rows of each cluster."""
    view, n, rows = scene.view, len(labels), scene.view.rows
    counts = np.bincount(labels)
    own = counts[labels[rows]]
    alone = own == 1
    a, b, _ = similarity_to_clusters(view, labels, counts, sums)
    seen = _tally(scene, labels)
    to_own, to_other = view.units(a), view.units(b)
    gap = view.gap(a, b)
    joined = ~alone
    read = len(rows) * np.minimum(NEAREST, view.indices.shape[1])
    found = [
        np.log(n),
        np.log(len(counts) / n),
        alone.mean(),
        *((own <= size).mean() for size in SIZES),
        np.log(own).mean(),
        np.log(own).std(),
        counts.max() / n,
        view.strangers.middle,
        np.log(view.strangers.spread),
        *view.strangers.tail,
        *_quantiles(to_own[joined], WIDE),
        *_quantiles(to_other[joined], WIDE),
        *_quantiles(gap[joined], WIDE),
        (a < b)[joined].mean() if joined.any() else 0.0,
        *_quantiles(to_other[alone], NARROW),
        *(seen.nearest / read),
        *_counted_quantiles(seen.heights[1], scene.heights),
        *_counted_quantiles(seen.heights[0], scene.heights),
        seen.heights[0].sum() / seen.heights.sum(),
        *(value for shared in seen.shared for value in _inside_and_outside(shared)),
        *_order(seen, view.indices.shape[1]),
        *_cluster_gaps(gap, labels[rows]),
    ]
    return np.nan_to_num(np.array(found, dtype=np.float32))


def _bins(values: NDArray[np.floating]) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Return the bin of each value, bins being equally full, and the middle value of each bin."""
    edges = np.quantile(values, np.linspace(0, 1, 2 * BINS + 1))
    return np.searchsorted(edges[2:-1:2], values, side="right").astype(np.int16), edges[1::2]


def _quantiles(values: NDArray[np.floating], percent: tuple[int, ...]) -> NDArray[np.floating]:
    return np.percentile(values, percent) if len(values) else np.zeros(len(percent))


def _counted_quantiles(counts: NDArray[np.int64], values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the NARROW quantiles of values (b,), each as often as it was counted.

    >>> _counted_quantiles(np.array([2, 8, 1]), np.array([0.1, 0.2, 0.3]))
    array([0.1, 0.2, 0.2])
    """
    total = counts.cumsum()
    if not total[-1]:
        return np.zeros(len(NARROW))
    return values[np.searchsorted(total, np.array(NARROW) / 100 * (total[-1] - 1), side="right")]


def _inside_and_outside(shared: NDArray[np.int64]) -> list[float]:
    shares = np.arange(shared.shape[1]) / (shared.shape[1] - 1)
    return [*_counted_quantiles(shared[1], shares), *_counted_quantiles(shared[0], shares)]


def _order(seen: Tally, k: int) -> list[float]:
    """Return the share of rows with neighbours inside and outside, and how surely those inside come first."""
    outside = k - seen.inside
    mixed = (seen.inside > 0) & (outside > 0)
    first = 1 - (seen.ranks - seen.inside * (seen.inside - 1) / 2) / np.maximum(seen.inside * outside, 1)
    return [mixed.mean(), *_quantiles(first[mixed], NARROW)]


def _cluster_gaps(gap: NDArray[np.float32], labels: NDArray[np.integer]) -> list[float]:
    """Return quantiles, mean and spread of the mean gap of each row's cluster."""
    mean = (np.bincount(labels, gap) / np.maximum(np.bincount(labels), 1))[labels]
    return [*_quantiles(mean, NARROW), mean.mean(), mean.std()]


def similarity_to_clusters(
    view: View, labels: NDArray[np.int64], counts: NDArray[np.int64], sums: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Return a and b (m,) and the cluster of b (m,).

    For a row alone a is the similarity of its nearest; without another cluster b is that of strangers, the cluster -1.
    """
    rows, X = view.rows, view.X
    sums = sums_of(X, labels, len(counts)) if sums is None else sums
    own, mine = counts[labels[rows]], X[rows]
    a = (np.einsum("ij,ij->i", sums[labels[rows]], mine) - 1) / np.maximum(own - 1, 1)
    a = np.where(own == 1, view.similarities.max(axis=1), a)
    b = np.empty(len(rows), dtype=np.float32)
    which = np.full(len(rows), -1, dtype=np.int64)
    arguments = (view.indices, labels, labels[rows], sums, counts.astype(np.float32), mine, b, which)
    over_spans(lambda first, last: _best_other(first, last, *arguments), len(rows))
    return a, np.where(b < -1.5, np.float32(view.strangers.middle), b), which


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
    tried = np.empty(MOST_CLUSTERS, np.int64)
    for i in range(first, last):
        best[i], count = -2, 0
        for a in range(indices.shape[1]):
            c = labels[indices[i, a]]
            new = c != own[i]
            for e in range(count):
                new = new and tried[e] != c
            if not new:
                continue
            tried[count] = c
            count += 1
            similarity = np.float32(0)
            for column in range(X.shape[1]):
                similarity += sums[c, column] * X[i, column]
            if similarity / counts[c] > best[i]:
                best[i], which[i] = similarity / counts[c], c
            if count == MOST_CLUSTERS:
                break


def _tally(scene: Scene, labels: NDArray[np.int64]) -> Tally:
    heights = np.zeros((2, BINS), dtype=np.int64)
    near, far = (np.zeros((2, wide + 2), dtype=np.int64) for wide in SHARED_AT)
    view = scene.view
    inside, ranks = np.zeros((2, len(view.rows)), dtype=np.int64)
    nearest = np.zeros(len(NEAREST), dtype=np.int64)
    seen = view.rows, view.indices, scene.bins, scene.shared[0], scene.shared[1]
    _count(labels, *seen, np.array(NEAREST), heights, near, far, inside, ranks, nearest)
    return Tally(heights, (near, far), inside, ranks, nearest)


@kernel()
def _count(
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    indices: NDArray[np.int32],
    bins: NDArray[np.int16],
    shared_near: NDArray[np.int16],
    shared_far: NDArray[np.int16],
    limits: NDArray[np.int64],
    heights: NDArray[np.int64],
    near: NDArray[np.int64],
    far: NDArray[np.int64],
    inside: NDArray[np.int64],
    ranks: NDArray[np.int64],
    nearest: NDArray[np.int64],
) -> None:
    for i in range(len(rows)):
        own, level = labels[rows[i]], 0
        for a in range(indices.shape[1]):
            while a == limits[level]:
                nearest[level] += inside[i]
                level += 1
            same = 1 if labels[indices[i, a]] == own else 0
            heights[same, bins[i, a]] += 1
            near[same, shared_near[i, a]] += 1
            far[same, shared_far[i, a]] += 1
            inside[i] += same
            ranks[i] += same * a
        for rest in range(level, len(limits)):
            nearest[rest] += inside[i]


def _shared(indices: NDArray[np.int32], rows: NDArray[np.int64], wide: int) -> NDArray[np.int16]:
    """Return (m, k) how many members the neighbourhoods of rows (m,) and of their neighbours, with themselves, share.

    Out of SHARED_AT + 1, also where there are fewer neighbours.
    """
    result = np.empty((len(rows), indices.shape[1]), dtype=np.int16)
    over_spans(lambda first, last: _count_shared(first, last, indices, rows, wide, result), len(rows))
    return result


@kernel()
def _count_shared(
    first: int,
    last: int,
    indices: NDArray[np.int32],
    rows: NDArray[np.int64],
    wide: int,
    result: NDArray[np.int16],
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
            result[i, a] = count
