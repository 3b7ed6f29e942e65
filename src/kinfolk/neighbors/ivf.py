"""Inverted lists, probed in both directions, as matrix products.

Rows are sorted into cells around centroids. Row x probes every cell whose centroid c is at least `share` times as
similar as the nearest one, <x, c> >= share max <x, c'>: few cells for a row near one centroid, many for a row between
several. Rows i and j are compared where i probes j's cell or j probes i's. The second direction is what faiss's lists
lack: where classes are smaller than k, the last neighbours of a row lie in cells it does not probe, but many of them
probe its own. The queries that probe one list are multiplied with it together, not one after the other
(benchmarks/knn.py measures both).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.faiss import faiss
from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal
from kinfolk.neighbors._recall import largest_share, sample_truth
from kinfolk.neighbors.exact import SLACK

POINTS_PER_CENTROID = 48  # rows that k-means learns from; faiss warns below 39
KMEANS_ROUNDS = 6  # the recall is tuned afterwards: better centroids would only save probes
QUERIES_AT_ONCE = 4096  # of one thread: products large enough for BLAS, scores that stay in the cache
LEAST_NEARNESS = np.float32(1e-6)  # replaces the nearness of a row that points away from every centroid
MOST_PROBED = 1 / 8  # mean share of the cells beyond which exact search is as cheap


@dataclass(frozen=True)
class Cells:
    """Targets sorted by their nearest centroid.

    Shapes: centroids (c, d), of_target (n,) the cell of each target, members (n,) target rows cell after cell, starts
    (c + 1,). Memory: 8 n bytes and the centroids.
    """

    centroids: NDArray[np.float32]
    of_target: NDArray[np.int32]
    members: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def build(cls, targets: NDArray[np.float32], seed: int) -> Cells:
        """Cluster a sample of the targets into about 4 sqrt(n) cells and sort all of them in."""
        count = int(4 * np.sqrt(len(targets)))
        kmeans = faiss.Kmeans(
            targets.shape[1],
            count,
            niter=KMEANS_ROUNDS,
            spherical=True,
            seed=seed,
            max_points_per_centroid=POINTS_PER_CENTROID,
            min_points_per_centroid=1,
        )
        sample = np.random.default_rng(seed).permutation(len(targets))[: POINTS_PER_CENTROID * count]
        kmeans.train(targets[np.sort(sample)])
        centroids = np.asarray(kmeans.centroids)
        of_target = faiss.knn(targets, centroids, 1, metric=faiss.METRIC_INNER_PRODUCT)[1][:, 0].astype(np.int32)
        return cls(centroids, of_target, *_grouped(of_target, count))


@dataclass(frozen=True)
class Probes:
    """The cells that rows probe: those of row r are cells[starts[r] : starts[r + 1]]; own (rows,) the nearest one."""

    starts: NDArray[np.int64]
    cells: NDArray[np.int32]
    own: NDArray[np.int32]

    @classmethod
    def of(cls, rows: NDArray[np.float32], centroids: NDArray[np.float32], share: float) -> Probes:
        """Return for every row the cells that are at least `share` times as similar as its nearest one."""
        parts = []
        for start in range(0, len(rows), QUERIES_AT_ONCE):
            nearness = rows[start : start + QUERIES_AT_ONCE] @ centroids.T
            own = nearness.argmax(axis=1)
            nearest = np.take_along_axis(nearness, own[:, None], axis=1)
            probed = nearness >= np.float32(share) * np.maximum(nearest, LEAST_NEARNESS)
            probed[np.arange(len(own)), own] = True
            parts.append((probed.sum(axis=1), np.nonzero(probed)[1].astype(np.int32), own.astype(np.int32)))
        counts, cells, nearest_cells = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(np.concatenate([[0], np.cumsum(counts)]), cells, nearest_cells)

    def take(self, rows: NDArray[np.int64]) -> Probes:
        """Return the probes of some rows."""
        counts = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        positions = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], counts)
        return Probes(starts, self.cells[positions], self.own[rows])

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each entry of `cells`."""
        return np.repeat(np.arange(len(self.own)), np.diff(self.starts))


@dataclass(frozen=True)
class IvfSearch:
    """Inverted lists, probed as far as the wanted recall needs.

    `visitors` are for each cell the targets that probe it. Memory: the targets once more, sorted by cell, and 12 bytes
    for each probe (some tens of probes a target).
    """

    cells: Cells
    targets: NDArray[np.float32]
    sorted_targets: NDArray[np.float32]
    probes: Probes
    visitors: NDArray[np.int64]
    visitor_starts: NDArray[np.int64]
    share: float
    recall: float
    method: ClassVar[str] = "ivf"

    @classmethod
    def tuned(
        cls, targets: NDArray[np.float32], queries: NDArray[np.float32] | None, k: int, recall: float, seed: int
    ) -> IvfSearch | None:
        """Return the cheapest search that reaches `recall` on a sample; None when exact search would be as cheap."""
        cells = Cells.build(targets, seed)
        sample, own_rows, truth = sample_truth(targets, queries, k, seed)
        share, reached = largest_share(_shares(cells, targets, sample, truth), truth != own_rows[:, None], recall)
        probed = len(Probes.of(sample, cells.centroids, share).cells) / len(sample)
        if probed > MOST_PROBED * len(cells.centroids):
            return None
        return cls.probing(cells, targets, share, reached)

    @classmethod
    def probing(cls, cells: Cells, targets: NDArray[np.float32], share: float, recall: float) -> IvfSearch:
        """Return the search with a given `share`."""
        probes = Probes.of(targets, cells.centroids, share)
        entries, starts = _grouped(probes.cells, len(cells.centroids))
        return cls(cells, targets, targets[cells.members], probes, probes.rows[entries], starts, share, recall)

    def order(self, queries: NDArray[np.float32] | None) -> NDArray[np.int64]:
        """Return the queries cell after cell: neighbours in this order share the lists they are compared with."""
        if queries is None:
            return self.cells.members
        return np.argsort(Probes.of(queries, self.cells.centroids, 1.0).own, kind="stable")

    def candidates(self, queries: NDArray[np.float32], own_rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        """Return at least k candidates for each query, unordered, -1 where there are fewer: (q, m)."""
        themselves = own_rows[0] >= 0
        probes = self.probes.take(own_rows) if themselves else Probes.of(queries, self.cells.centroids, self.share)
        chunks = [np.arange(s, min(s + QUERIES_AT_ONCE, len(queries))) for s in range(0, len(queries), QUERIES_AT_ONCE)]
        return np.concatenate(deal(lambda c: self._search(queries[c], probes.take(c), k + SLACK), chunks))

    def _search(self, queries: NDArray[np.float32], probes: Probes, k: int) -> NDArray[np.int64]:
        best = np.full((len(queries), k), -np.inf, dtype=np.float32)
        best_ids = np.full((len(queries), k), -1, dtype=np.int64)
        probed = np.zeros((len(queries), len(self.cells.centroids)), dtype=np.bool_)
        rows = probes.rows
        # the own cell first: once it has filled the heaps, few of the later products enter them
        first = probes.cells == probes.own[rows]
        for entries in (np.flatnonzero(first), np.flatnonzero(~first)):
            for cell, group in _groups(probes.cells[entries]):
                probing = rows[entries[group]]
                span = slice(self.cells.starts[cell], self.cells.starts[cell + 1])
                products = queries[probing] @ self.sorted_targets[span].T
                _offer(products, probing, self.cells.members[span], best, best_ids, probed, self.cells.of_target)
        probed[rows, probes.cells] = True
        for cell, members in _groups(probes.own):
            others = self.visitors[self.visitor_starts[cell] : self.visitor_starts[cell + 1]]
            products = queries[members] @ self.targets[others].T
            _offer(products, members, others, best, best_ids, probed, self.cells.of_target)
        return best_ids


def _shares(
    cells: Cells, targets: NDArray[np.float32], sample: NDArray[np.float32], truth: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return for each true neighbour the largest `share` at which it is found, from either side: (q, k)."""
    nearness = sample @ cells.centroids.T
    own_cell = nearness.argmax(axis=1)
    rows = np.arange(len(sample))
    shares = np.empty(truth.shape, dtype=np.float32)
    for column, neighbors in enumerate(truth.T):
        forward = nearness[rows, cells.of_target[neighbors]] / np.maximum(nearness.max(axis=1), LEAST_NEARNESS)
        back = targets[neighbors] @ cells.centroids.T
        backward = back[rows, own_cell] / np.maximum(back.max(axis=1), LEAST_NEARNESS)
        shares[:, column] = np.maximum(forward, backward)
    return shares


def _grouped(numbers: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of 0, 1, ... count - 1 in `numbers`, one number after the other, and where each starts."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=count))])
    positions = np.empty(len(numbers), dtype=np.int64)
    _place(numbers, starts[:-1].copy(), positions)
    return positions, starts


@kernel()
def _place(numbers: NDArray[np.int32], following: NDArray[np.int64], positions: NDArray[np.int64]) -> None:
    """Write each position to the next free place of its number: a counting sort."""
    for position in range(len(numbers)):
        number = numbers[position]
        positions[following[number]] = position
        following[number] += 1


def _groups(numbers: NDArray[np.integer]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each different number with its positions."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
    for start, stop in pairwise(bounds):
        yield int(numbers[order[start]]), order[start:stop]


@kernel()
def _sift_down(values: NDArray[np.float32], ids: NDArray[np.int64], value: np.float32, number: int) -> None:
    """Replace the smallest entry, at the root of a binary heap, and restore the heap."""
    size = len(values)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        values[at] = values[child]
        ids[at] = ids[child]
        at = child
    values[at] = value
    ids[at] = number


@kernel()
def _offer(
    products: NDArray[np.float32],
    queries: NDArray[np.int64],
    members: NDArray[np.int64],
    best: NDArray[np.float32],
    best_ids: NDArray[np.int64],
    probed: NDArray[np.bool_],
    cell_of: NDArray[np.int32],
) -> None:
    """Add the products to the heaps of their queries, except those of targets in a cell that the query has probed."""
    for row in range(len(queries)):
        query = queries[row]
        values, ids = best[query], best_ids[query]
        for column in range(len(members)):
            if products[row, column] > values[0]:
                target = members[column]
                if not probed[query, cell_of[target]]:
                    _sift_down(values, ids, products[row, column], target)
