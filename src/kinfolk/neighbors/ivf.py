"""Inverted lists: a query is compared with the lists whose centroids are nearest to it.

faiss scans a list query by query, at memory speed. A neighbour graph asks for all rows at once, so here the queries
that probe one list are taken together and multiplied with it as matrices: the same answer several times faster
(benchmarks/knn.py measures both).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import faiss
import numba as nb
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kinfolk.neighbors.exact import SLACK
from kinfolk.neighbors.recall import tune_effort
from kinfolk.threads import thread_count

POINTS_PER_CENTROID = 48
KMEANS_ROUNDS = 8
QUERIES_AT_ONCE = 8192


@nb.njit(nogil=True, cache=True)
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


@nb.njit(nogil=True, cache=True)
def _offer(
    products: NDArray[np.float32],
    queries: NDArray[np.int64],
    members: NDArray[np.int64],
    best: NDArray[np.float32],
    best_ids: NDArray[np.int64],
) -> None:
    for row in range(len(queries)):
        values, ids = best[queries[row]], best_ids[queries[row]]
        for column in range(len(members)):
            if products[row, column] > values[0]:
                _sift_down(values, ids, products[row, column], members[column])


@dataclass(frozen=True)
class InvertedLists:
    """Targets sorted by their nearest centroid. Memory: a second copy of the targets, 4 n d bytes."""

    centroids: NDArray[np.float32]
    members: NDArray[np.int64]  # (n,) target rows, list after list
    starts: NDArray[np.int64]  # (lists + 1,)
    sorted_targets: NDArray[np.float32]

    @classmethod
    def build(cls, targets: NDArray[np.float32], seed: int) -> InvertedLists:
        """Cluster a sample of the targets into about 4 sqrt(n) lists and sort all of them in."""
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
        nearest = faiss.knn(targets, centroids, 1, metric=faiss.METRIC_INNER_PRODUCT)[1][:, 0]
        members = np.argsort(nearest, kind="stable")
        starts = np.searchsorted(nearest[members], np.arange(count + 1))
        return cls(centroids, members, starts, targets[members])

    def search(self, queries: NDArray[np.float32], k: int, probes: int) -> NDArray[np.int64]:
        """Return the k best targets in the `probes` nearest lists of each query, unordered, -1 for none."""
        starts = range(0, len(queries), QUERIES_AT_ONCE)
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(thread_count()) as pool:
            chunks = [queries[s : s + QUERIES_AT_ONCE] for s in starts]
            return np.concatenate(list(pool.map(lambda chunk: self._search_chunk(chunk, k, probes), chunks)))

    def _search_chunk(self, queries: NDArray[np.float32], k: int, probes: int) -> NDArray[np.int64]:
        best = np.full((len(queries), k), -np.inf, dtype=np.float32)
        best_ids = np.full((len(queries), k), -1, dtype=np.int64)
        for number, rows in self._queries_by_list(queries, probes):
            span = slice(self.starts[number], self.starts[number + 1])
            products = queries[rows] @ self.sorted_targets[span].T
            _offer(products, rows, self.members[span], best, best_ids)
        return best_ids

    def _queries_by_list(self, queries: NDArray[np.float32], probes: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        nearness = queries @ self.centroids.T
        probed = np.argpartition(-nearness, probes - 1, axis=1)[:, :probes].ravel()
        order = np.argsort(probed, kind="stable")
        bounds = np.flatnonzero(np.diff(probed[order], prepend=-1, append=len(self.centroids)))
        for start, stop in pairwise(bounds):
            yield int(probed[order[start]]), order[start:stop] // probes


@dataclass(frozen=True)
class IvfSearch:
    """Inverted lists probed as far as the recall that was asked needs."""

    lists: InvertedLists
    probes: int
    recall: float
    method: ClassVar[str] = "ivf"

    @classmethod
    def tuned(
        cls, targets: NDArray[np.float32], queries: NDArray[np.float32] | None, k: int, recall: float, seed: int
    ) -> IvfSearch | None:
        """Return the cheapest search that reaches `recall` on a sample; None when exact search would be as cheap."""
        lists = InvertedLists.build(targets, seed)
        most = max(1, len(lists.centroids) // 3)
        efforts = np.unique(np.geomspace(min(4, most), most, 24).astype(int)).tolist()
        tuned = tune_effort(targets, queries, k, recall, lambda q, p: lists.search(q, k, p), efforts, seed)
        return cls(lists, *tuned) if tuned else None

    def candidates(self, queries: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Return at least k candidates for each query: (q, m)."""
        return self.lists.search(queries, k + SLACK, self.probes)
