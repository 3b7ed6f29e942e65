"""G-cut: neighbours whose similarity passes a threshold belong together, and so do their neighbours (section 3.4)."""

from __future__ import annotations

from typing import Literal, Self

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kinfolk._core.errors import InputError
from kinfolk._core.threads import thread_count
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.cluster._internal.hierarchy import Merges, most_modular
from kinfolk.cluster._internal.size_limit import NO_LIMIT, best_first, join_with_guard
from kinfolk.cluster._internal.sweep import Sweep, score_merges
from kinfolk.cluster._internal.threshold_merges import merges_by_level
from kinfolk.cluster._internal.union_find import find, roots
from kinfolk.features import Matrix
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity import sim_m

POINTS = 100
GUARD_FROM = 10  # below this size clusters are joined by any edge


class GCut(Clusterer):
    r"""Union-find over the edges of the neighbour graph whose similarity passes a threshold.

    i ~ j  where  j in V_i and s_ij >= threshold;    clusters are the connected parts of ~

    k            neighbours of each row
    threshold    a number; "auto": the most modular cut on the tests of Sim-M, without labels (see
                 `kinfolk.cluster._internal.hierarchy`); `tune(X, y)` chooses it on labelled rows
    similarity   "cosine" or "sim_m"
    max_size     the largest cluster allowed; edges are then joined best first
    guard        edges for each row of the smaller cluster that two clusters of 10 rows and more need between them to
                 become one: one wrong edge no longer joins two identities (None: it does, as in the paper)

    After fit: `labels_`, `threshold_`, `graph_`, and `sweep(y)` for the scores at all thresholds.

    Cost: one pass over the n k edges; "auto" adds Sim-M. Memory: the graph (8 n k bytes), and as much again for
    similarity="sim_m" and for threshold="auto".

    >>> X = [[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]]
    >>> GCut(k=2, threshold=0.9).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(  # noqa: D107
        self,
        k: int = 80,
        threshold: float | Literal["auto"] = "auto",
        similarity: Literal["cosine", "sim_m"] = "cosine",
        *,
        max_size: int | None = None,
        guard: float | None = None,
    ) -> None:
        self.k = k
        self.threshold = threshold
        self.similarity = similarity
        self.max_size = max_size
        self.guard = guard

    def tune(self, X: Matrix | NeighborGraph, y: ArrayLike) -> Self:
        """Set `threshold` to the best balance, max (F_P + F_B) / 2, on labelled rows, and fit them.

        Choose it on rows other than those you report scores of. It is the plain cut that is scored: without max_size
        and guard.

        >>> import kinfolk as kf
        >>> fs = kf.datasets.celeb_like(60)
        >>> train, test = fs.part("train"), fs.part("test")
        >>> clusterer = GCut(k=20, similarity="sim_m").tune(train, train.labels)
        >>> round(kf.metrics.pairwise(test.labels, clusterer.fit_predict(test)).f, 2)
        0.85
        """
        self._prepare(X)
        coarse = self.sweep(y)
        best = int(np.argmax(coarse.mean_f))
        around = coarse.thresholds[[max(best - 1, 0), min(best + 1, len(coarse) - 1)]]
        fine = self.sweep(y, thresholds=np.linspace(around[0], around[1], POINTS))
        self.threshold = fine.oracle.threshold  # of the labelled rows: an oracle for them, and for nobody else
        return self.fit(X)

    def sweep(self, y: ArrayLike, points: int = POINTS, *, thresholds: ArrayLike | None = None) -> Sweep:
        """Return Pairwise and BCubed scores of the plain cut of the fitted rows at many thresholds, in one pass.

        `points` thresholds lie evenly between the lowest and the highest similarity of an edge, unless given. Cost:
        one pass over the edges, however many points; next to nothing after threshold="auto", which did that pass.

        >>> import kinfolk as kf
        >>> digits = kf.datasets.digits()
        >>> GCut(k=20, similarity="sim_m").fit(digits).sweep(digits.labels)
        Sweep(100 thresholds, oracle 0.4952: F_P 0.7974, F_B 0.8354)
        """
        check_is_fitted(self, "_sorted")
        indices, scores = self._sorted
        levels = _levels(scores, points) if thresholds is None else np.asarray(thresholds, dtype=np.float32)
        levels = np.sort(levels.ravel())[::-1]
        return score_merges(self._merges_at(levels), levels, y, len(indices))

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        g = self._prepare(X)
        indices, scores = self._sorted
        self.threshold_ = self._threshold(g)
        if self.guard is None:
            return roots(_joined(indices, scores, np.float32(self.threshold_)))
        if not self.guard >= 0:
            raise InputError(f"guard must be 0 or more edges a row, or None, not {self.guard!r}")
        edges = best_first(NeighborGraph(indices, scores, len(g)), scores, scores >= np.float32(self.threshold_))
        return join_with_guard(len(g), *edges, self.guard, GUARD_FROM, self.max_size or NO_LIMIT)

    def _prepare(self, X: Matrix | NeighborGraph) -> NeighborGraph:
        g = self._graph(X, self.k)
        if self.similarity not in ("cosine", "sim_m"):
            raise InputError(f"similarity must be 'cosine' or 'sim_m', not {self.similarity!r}")
        indices, scores = np.ascontiguousarray(g.indices), np.ascontiguousarray(g.similarities)
        if self.similarity == "sim_m":
            scores = sim_m(g)
            indices = indices.copy()
            _sort_rows(indices, scores, thread_count())
        self._sorted = indices, scores  # each row best first
        self._known: tuple[NDArray[np.float32], Merges] | None = None
        return g

    def _threshold(self, g: NeighborGraph) -> float:
        if self.threshold != "auto":
            if isinstance(self.threshold, str) or not np.isfinite(self.threshold):
                raise InputError(f"threshold must be a number or 'auto', not {self.threshold!r}")
            return float(self.threshold)
        indices, scores = self._sorted
        tests = scores if self.similarity == "sim_m" else sim_m(g)
        merges = self._merges_at(levels := _levels(scores, POINTS))
        count = most_modular(merges, indices, tests)
        return float(merges.similarity[count - 1] if count else np.nextafter(levels[0], np.float32(2)))

    def _merges_at(self, levels: NDArray[np.float32]) -> Merges:
        """Return the merges at these levels; those of the last time are kept, so a sweep after "auto" has them."""
        if self._known is None or not np.array_equal(self._known[0], levels):
            self._known = levels, merges_by_level(*self._sorted, levels)
        return self._known[1]

    def _least_similarity(self) -> float:
        return self.threshold_ if self.similarity == "cosine" else -1.0


def _levels(scores: NDArray[np.float32], points: int) -> NDArray[np.float32]:
    if points < 1:
        raise InputError(f"a sweep needs 1 or more points, not {points}")
    return np.linspace(scores[:, 0].max(), scores[:, -1].min(), points, dtype=np.float32)


@nb.njit(cache=True)
def _joined(indices: NDArray[np.int32], scores: NDArray[np.float32], threshold: np.float32) -> NDArray[np.int32]:
    n, k = indices.shape
    parent = np.arange(n).astype(np.int32)
    for i in range(n):
        own = find(parent, i)
        for a in range(k):
            if scores[i, a] < threshold:
                break
            other = find(parent, indices[i, a])
            if other != own:
                parent[max(own, other)] = min(own, other)
                own = min(own, other)
    return parent


@nb.njit(parallel=True, cache=True)
def _sort_rows(indices: NDArray[np.int32], scores: NDArray[np.float32], workers: int) -> None:
    n = len(indices)
    for worker in nb.prange(workers):
        for i in range(n * worker // workers, n * (worker + 1) // workers):
            for a in range(1, indices.shape[1]):  # insertion: the nearest neighbours mostly have the most in common
                score, index, at = scores[i, a], indices[i, a], a
                while at > 0 and scores[i, at - 1] < score:
                    scores[i, at], indices[i, at] = scores[i, at - 1], indices[i, at - 1]
                    at -= 1
                scores[i, at], indices[i, at] = score, index
