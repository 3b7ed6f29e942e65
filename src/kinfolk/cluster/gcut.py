"""G-cut: connected components of the neighbour graph above a similarity threshold (section 3.4 of the paper)."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kinfolk._core.checks import check_choice, check_number, check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal
from kinfolk.cluster._internal.base import Clusterer
from kinfolk.cluster._internal.hierarchy import Merges, most_modular, shortest_walk
from kinfolk.cluster._internal.size_limit import NO_LIMIT, edges_by_score, join_with_guard
from kinfolk.cluster._internal.sweep import Sweep, score_merges
from kinfolk.cluster._internal.threshold_merges import merges_at_thresholds
from kinfolk.cluster._internal.union_find import find, roots
from kinfolk.enhance import GraphEnhancer
from kinfolk.enhance._learning import numbered_classes
from kinfolk.enhance.with_labels import FEWEST_CLASSES
from kinfolk.features import Matrix, as_matrix
from kinfolk.kinship.choose_k import CLOSURE_KS, choose_k
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity import sim_m

POINTS = 100  # thresholds of a sweep, and those that "auto" chooses from
BLOCK_ROWS = 1 << 14  # sorted by a worker at once
GUARD_FROM = 10  # rows; smaller clusters are joined by any edge: they have too few edges to count


class GCut(Clusterer):
    r"""Connected components of the edges of the neighbour graph whose similarity reaches a threshold.

    i ~ j  where  j in V_i and s_ij >= threshold;    clusters are the connected components of ~

    Parameters
    ----------
    k : neighbours of each row.
    threshold : a number; "auto": without labels, the cut that tells a random walk between close neighbours in the
        fewest bits, or for similarity="sim_m" the most modular one (see `kinfolk.cluster._internal.hierarchy`);
        `tune(X, y)` chooses it on labelled rows.
    similarity : "cosine" or "sim_m".
    max_size : no cluster gets larger.
    guard : minimum number of edges, for each row of the smaller one, that two clusters of 10 or more rows need to be
        joined, so that one wrong edge does not join two identities. None: one edge is enough, as in the paper.
    verbose : say on standard error what is done, and how long.

    Attributes
    ----------
    labels_ : (n,) clusters by falling size.
    threshold_ : the threshold used.
    graph_ : the neighbour graph.

    Cost: one pass over the n k edges; "auto" adds a second one, closures and Sim-M. Memory: the graph (8 n k bytes),
    and as much again for similarity="sim_m" and for threshold="auto".

    Examples
    --------
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
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.threshold = threshold
        self.similarity = similarity
        self.max_size = max_size
        self.guard = guard
        self.verbose = verbose

    def tune(self, X: Matrix | NeighborGraph, y: ArrayLike, enhancer: GraphEnhancer | None = None) -> Self:
        """Set `threshold` to the one with the best (F_P + F_B) / 2 on labelled rows, and fit them.

        Tune on rows other than those you report scores of. The plain cut is scored, without max_size and guard.

        Parameters
        ----------
        X : features (n, d), or without an enhancer their NeighborGraph.
        y : (n,) labels; below zero is unknown.
        enhancer : whose trained features the threshold is for; it stays as it is. Identities that it has seen are too
            easy, so a copy learns from one half of the identities and the other half is cut, then the other way round;
            the threshold is the mean of both.

        Returns
        -------
        self : fitted to X; with an enhancer, to the trained features of one half.

        Examples
        --------
        >>> import kinfolk as kf
        >>> fs = kf.datasets.celeb_like(60)
        >>> train, test = fs.part("train"), fs.part("test")
        >>> clusterer = GCut(k=20, similarity="sim_m").tune(train, train.labels)
        >>> round(kf.metrics.pairwise(test.labels, clusterer.fit_predict(test)).f, 2)
        0.85
        """
        if enhancer is not None:
            return self._tune_held_back(X, y, enhancer)
        self._check_settings()
        self._prepare(X)
        coarse = self.sweep(y)
        best = int(np.argmax(coarse.mean_f))
        around = coarse.thresholds[[max(best - 1, 0), min(best + 1, len(coarse) - 1)]]
        fine = self.sweep(y, thresholds=np.linspace(around[0], around[1], POINTS))
        self.threshold = fine.oracle.threshold  # an oracle for these rows only
        return self.fit(X)

    def _tune_held_back(self, X: Matrix | NeighborGraph, y: ArrayLike, enhancer: GraphEnhancer) -> Self:
        if isinstance(X, NeighborGraph):
            raise InputError("an enhancer needs features, not a NeighborGraph")
        matrix = as_matrix(X)
        classes = numbered_classes(y, len(matrix))
        assert classes is not None
        identities = np.random.default_rng(enhancer.random_state).permutation(np.unique(classes[classes >= 0]))
        if len(identities) < 2 * FEWEST_CLASSES:
            raise InputError(
                f"{len(identities)} identities are too few to hold back half of them: at least 12 are needed"
            )
        thresholds = []
        for held_back in (identities[::2], identities[1::2]):
            cut = np.flatnonzero(np.isin(classes, held_back))
            seen = np.flatnonzero(~np.isin(classes, held_back) & (classes >= 0))
            half = clone(enhancer).fit(matrix[seen], classes[seen])
            thresholds.append(self.tune(half.transform(matrix[cut]), classes[cut]).threshold_)
        self.threshold = float(np.mean(thresholds))
        return self.fit(half.transform(matrix[cut]))

    def sweep(self, y: ArrayLike, points: int = POINTS, *, thresholds: ArrayLike | None = None) -> Sweep:
        """Return Pairwise and BCubed scores of the plain cut of the fitted rows at many thresholds, in one pass.

        Parameters
        ----------
        y : (n,) labels; below zero is unknown.
        points : number of thresholds, evenly spaced between the highest and the lowest similarity of an edge.
        thresholds : the thresholds themselves, instead.

        Returns
        -------
        sweep : a `Sweep`, highest threshold first.

        Cost: one pass over the edges, for any number of points; none after threshold="auto", which did that pass.

        Examples
        --------
        >>> import kinfolk as kf
        >>> digits = kf.datasets.digits()
        >>> GCut(k=20, similarity="sim_m").fit(digits).sweep(digits.labels)
        Sweep(100 thresholds, oracle 0.4952: F_P 0.7974, F_B 0.8354)
        """
        check_is_fitted(self, "_sorted")
        indices, scores = self._sorted
        chosen = _thresholds(scores, points) if thresholds is None else np.asarray(thresholds, dtype=np.float32)
        chosen = np.sort(chosen.ravel())[::-1]
        return score_merges(self._merges_at(chosen), chosen, y, len(indices))

    def _cluster(self, X: Matrix | NeighborGraph) -> NDArray[np.integer]:
        g = self._prepare(X)
        indices, scores = self._sorted
        self.threshold_ = self._threshold(g)
        if self.guard is None:
            return components_above(indices, scores, self.threshold_)
        edges = edges_by_score(NeighborGraph(indices, scores, len(g)), scores, scores >= np.float32(self.threshold_))
        return join_with_guard(len(g), *edges, self.guard, GUARD_FROM, self.max_size or NO_LIMIT)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("k", self.k)
        check_choice("similarity", self.similarity, ("cosine", "sim_m"))
        check_number("threshold", self.threshold, auto=True)
        if self.guard is not None:
            check_number("guard", self.guard, least=0)

    def _prepare(self, X: Matrix | NeighborGraph) -> NeighborGraph:
        g = self._graph(X, self.k)
        indices, scores = (np.ascontiguousarray(g.indices), np.ascontiguousarray(g.similarities))
        if self.similarity == "sim_m":
            indices, scores = indices.copy(), sim_m(g)
            deal(lambda start: _sort_rows(indices, scores, start, start + BLOCK_ROWS), range(0, len(g), BLOCK_ROWS))
        self._sorted = indices, scores  # each row best first
        self._last_merges: tuple[NDArray[np.float32], Merges] | None = None
        return g

    def _threshold(self, g: NeighborGraph) -> float:
        if self.threshold != "auto":
            return float(self.threshold)
        indices, scores = self._sorted
        merges = self._merges_at(chosen := _thresholds(scores, POINTS))
        if self.similarity == "sim_m":
            return _after(merges, most_modular(merges, indices, scores), chosen)
        # the walk stays where neighbourhoods are most closed: more neighbours than a class has lead it away
        near = g.restrict(choose_k(g)) if g.k >= CLOSURE_KS[0] else g
        steps = (near.indices, sim_m(near))
        coarse = _after(merges, shortest_walk(merges, *steps), chosen)
        best = int(np.argmin(np.abs(chosen - np.float32(coarse))))
        around = chosen[[max(best - 1, 0), min(best + 1, POINTS - 1)]]
        chosen = np.linspace(around[0], around[1], POINTS, dtype=np.float32)  # enhanced features crowd near 1
        merges = merges_at_thresholds(indices, scores, chosen)
        return _after(merges, shortest_walk(merges, *steps), chosen)

    def _merges_at(self, thresholds: NDArray[np.float32]) -> Merges:
        """Return the merges at these thresholds; the last result is kept for a sweep after "auto"."""
        if self._last_merges is None or not np.array_equal(self._last_merges[0], thresholds):
            self._last_merges = (thresholds, merges_at_thresholds(*self._sorted, thresholds))
        return self._last_merges[1]

    def _least_similarity(self) -> float:
        return self.threshold_ if self.similarity == "cosine" else -1.0


def _thresholds(scores: NDArray[np.float32], points: int) -> NDArray[np.float32]:
    check_whole("points", points)
    return np.linspace(scores[:, 0].max(), scores[:, -1].min(), points, dtype=np.float32)


def _after(merges: Merges, count: int, thresholds: NDArray[np.float32]) -> float:
    """Return the threshold of the last of so many merges; for none, one above all thresholds."""
    return float(merges.similarity[count - 1] if count else np.nextafter(thresholds[0], np.float32(2)))


def components_above(indices: NDArray[np.int32], scores: NDArray[np.float32], threshold: float) -> NDArray[np.int32]:
    """Return the lowest row of the connected component of each row: (n,).

    Shapes: indices, scores (n, k), rows best first; edges with a score below the threshold do not count.

    >>> components_above(np.array([[1], [0], [0]], np.int32), np.array([[0.9], [0.9], [0.2]], np.float32), 0.5)
    array([0, 0, 2], dtype=int32)
    """
    parent = np.arange(len(indices), dtype=np.int32)
    _join_above(indices, scores, np.float32(threshold), parent)
    return roots(parent)


@kernel()
def _join_above(
    indices: NDArray[np.int32], scores: NDArray[np.float32], threshold: np.float32, parent: NDArray[np.int32]
) -> None:
    n, k = indices.shape
    for i in range(n):
        own = find(parent, i)
        for a in range(k):
            if scores[i, a] < threshold:
                break
            other = find(parent, indices[i, a])
            if other != own:
                parent[max(own, other)] = min(own, other)
                own = min(own, other)


@kernel()
def _sort_rows(indices: NDArray[np.int32], scores: NDArray[np.float32], start: int, stop: int) -> None:
    """Sort the rows start to stop by falling score; by insertion, because they are nearly sorted by cosine."""
    for i in range(start, min(stop, len(indices))):
        for a in range(1, indices.shape[1]):
            score, index, at = scores[i, a], indices[i, a], a
            while at > 0 and scores[i, at - 1] < score:
                scores[i, at], indices[i, at] = scores[i, at - 1], indices[i, at - 1]
                at -= 1
            scores[i, at], indices[i, at] = score, index
