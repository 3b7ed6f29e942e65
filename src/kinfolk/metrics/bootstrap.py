r"""Confidence intervals over identities, and whether the difference of two results is real.

Items of one class are alike: drawing rows would count one person with 500 photographs as 500 facts. Drawn, with
replacement, are the C classes, C times. A resample is a weight w_c for each class: how often it was drawn.

clustering   The clusters stay as they are. A pair of items of class c counts w_c times, a pair of the classes c and c'
             w_c w_c' times; two draws of one class do not see each other (`clustering.view`), or a perfect clustering
             would look wrong. The other scores are means over what each item sees, in the same way.
retrieval,
re-ID        Who asks is drawn, who is found is not: a mean over the queries i, weighted by w of their class.
graph        Likewise over the rows of the graph: each edge i -> j counts w of the class of i. A row whose class is
             unknown is an identity of its own.

The interval goes from the (1 - level) / 2 to the (1 + level) / 2 quantile of the scores of the resamples, moved so that
their mean is the score of the set, and cut at the ends of the score's range. Moved, because a score that is not linear
in w is off in the resamples only since classes are drawn twice or not at all (BCubed precision by up to two standard
deviations, measured).

It says how much the score depends on who happened to be in the set, not how it would change with another training run.
Where errors join two classes (precision) it is cautious: wider than it need be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Unpack

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.progress import progress
from kinfolk.features import Matrix
from kinfolk.metrics._labels import numbered
from kinfolk.metrics.clustering import ari_score, bcubed_score, contingency, pairwise_score, v_score, view
from kinfolk.metrics.pairs import Graph, edge_noise_rate
from kinfolk.metrics.reid import Ranking, reid_queries
from kinfolk.metrics.retrieval import Asking, query_scores

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IdentityScores:
    """Scores as a function of how often each identity counts: `at(weights)` gives a value for each of `names`.

    `rows` is the identity of each row that is scored, numbered from 0: two results on the same rows can be compared.

    >>> scores = clustering_scores([0, 0, 1, 1], [0, 0, 1, 2])
    >>> scores.values()["pairwise_recall"], scores.identities
    (0.5, 2)
    """

    names: tuple[str, ...]
    rows: NDArray[np.int64]
    at: Callable[[Values], Values]

    @property
    def identities(self) -> int:
        """Number of identities."""
        return int(self.rows.max()) + 1

    def values(self) -> dict[str, float]:
        """Return the scores of the whole set, each identity once."""
        return dict(zip(self.names, self.at(np.ones(self.identities)).tolist(), strict=True))


class Interval(NamedTuple):
    """A score of the whole set and the ends of its confidence interval."""

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """A score of two results, first minus second, and the confidence interval of that difference."""

    name: str
    first: float
    second: float
    value: float
    low: float
    high: float
    level: float

    @property
    def real(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        verdict = (
            f"the {'first' if self.value > 0 else 'second'} is higher, more than the choice of identities explains"
            if self.real
            else "not told apart from chance"
        )
        return (
            f"{self.name}: {100 * self.first:.2f} against {100 * self.second:.2f}, difference {100 * self.value:+.2f} "
            f"({self.level:.0%} interval {100 * self.low:+.2f} to {100 * self.high:+.2f}): {verdict}"
        )


def bootstrap(
    scores: IdentityScores, resamples: int = 1000, level: float = 0.95, seed: int = 0, show_progress: bool = False
) -> dict[str, Interval]:
    """Return each score with its confidence interval over identities.

    Cost of a resample: the cells of the contingency table, or the number of classes (retrieval), or the number of
    edges (graph). Memory: a weight for each class and the scores of all resamples.

    >>> y = np.repeat(np.arange(30), 5)
    >>> p = np.where(np.arange(150) % 5 < y % 4, y + 100, y)  # parts of some classes split off
    >>> found = bootstrap(clustering_scores(y, p), seed=0)["pairwise_recall"]
    >>> [round(value, 2) for value in found]
    [0.61, 0.53, 0.71]
    """
    drawn = _resampled([scores], resamples, level, seed, show_progress)[0]
    values = scores.values()
    low, high = _ends(drawn, list(values.values()), level)
    least = {"ari": -1.0}
    return {
        name: Interval(value, max(low[s], least.get(name, 0.0)), min(high[s], 1.0))
        for s, (name, value) in enumerate(values.items())
    }


def resampled(scores: IdentityScores, resamples: int = 1000, seed: int = 0) -> dict[str, Values]:
    """Return each score on each resample of the identities: (resamples,) each.

    The same seed draws the same identities of the same set: differences between results may be taken draw by draw.

    >>> resampled(clustering_scores([0, 0, 1, 1], [0, 0, 1, 2]), resamples=5)["pairwise_recall"]
    array([0. , 0.5, 1. , 1. , 0.5])
    """
    (drawn,) = _resampled([scores], resamples, 0.95, seed, show_progress=False)
    return dict(zip(scores.names, drawn.T, strict=True))


def compare(
    first: IdentityScores,
    second: IdentityScores,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    show_progress: bool = False,
) -> dict[str, Difference]:
    """Return the difference of each score of two results on the same rows, and whether it is real.

    Paired: both are scored on the same draws of identities, so what makes a draw hard for both cancels out.

    >>> y = np.repeat(np.arange(30), 5)
    >>> p = np.where(np.arange(150) % 5 < y % 4, y + 100, y)
    >>> print(compare(clustering_scores(y, y), clustering_scores(y, p))["bcubed_f"])
    bcubed_f: 100.00 against 81.70, difference +18.30 (95% interval +13.05 to +23.05): the first is higher, more
    than the choice of identities explains
    """
    if first.names != second.names:
        raise InputError("two results are compared by the same scores: clusters with clusters, features with features")
    if not np.array_equal(first.rows, second.rows):
        raise InputError("two results are compared on the same rows: their labels (or who asks) differ")
    drawn = _resampled([first, second], resamples, level, seed, show_progress)
    one, two = first.values(), second.values()
    low, high = _ends(drawn[0] - drawn[1], [one[name] - two[name] for name in first.names], level)
    return {
        name: Difference(name, one[name], two[name], one[name] - two[name], low[s], high[s], level)
        for s, name in enumerate(first.names)
    }


def clustering_scores(y: ArrayLike, p: ArrayLike) -> IdentityScores:
    """Return the scores of the clustering `p` against the classes `y`, ready for `bootstrap` and `compare`.

    >>> round(clustering_scores([0, 0, 1, 1], [0, 1, 2, 2]).values()["nmi"], 2)
    0.8
    """
    table = contingency(y, p)
    sides = ("precision", "recall", "f")
    names = [f"{kind}_{side}" for kind in ("pairwise", "bcubed") for side in sides]

    def at(weights: Values) -> Values:
        seen = view(table, weights)
        v = v_score(seen)
        rest = (v.v, ari_score(seen), v.homogeneity, v.completeness)
        return np.array([*pairwise_score(seen), *bcubed_score(seen), *rest])

    classes = numbered(y)
    return IdentityScores((*names, "nmi", "ari", "homogeneity", "completeness"), classes[classes >= 0], at)


def retrieval_scores(
    X: Matrix, labels: ArrayLike, ranks: Sequence[int] = (1, 5, 10), **asking: Unpack[Asking]
) -> IdentityScores:
    """Return the retrieval scores of features, ready for `bootstrap` and `compare`; CMC at `ranks`.

    `asking` is that of `mean_average_precision`. Identities are the classes that ask and have two items or more.

    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> {name: round(value, 2) for name, value in retrieval_scores(X, [0, 0, 1, 1, 1], ranks=[1]).values().items()}
    {'map': 0.9, 'r_precision': 0.9, 'minp': 0.9, 'cmc_1': 0.8}
    """
    found = query_scores(X, labels, **asking)
    scores = dict(map=found.average_precision, r_precision=found.r_precision, minp=found.inverse_penalty)
    return _means_over_queries(found.classes, scores | _found_by(found.first_rank, ranks))


def reid_scores(
    ranking: Ranking | ArrayLike | Iterator[Ranking | ArrayLike],
    query_labels: ArrayLike,
    gallery_labels: ArrayLike,
    query_cameras: ArrayLike | None = None,
    gallery_cameras: ArrayLike | None = None,
    ranks: Sequence[int] = (1, 5, 10),
) -> IdentityScores:
    """Return the scores of the re-ID protocol, ready for `bootstrap` and `compare`; CMC at `ranks`.

    The first five arguments are those of `reid`. Identities are those of the queries that have somebody to find.

    >>> ranking = [[0, 1, 2, 3], [2, 0, 3, 1]]
    >>> reid_scores(ranking, [7, 8], [7, 7, 8, 8], ranks=[1]).values()
    {'map': 0.9166666666666666, 'minp': 0.8333333333333333, 'cmc_1': 1.0}
    """
    found = reid_queries(ranking, query_labels, gallery_labels, query_cameras, gallery_cameras)
    scores = dict(map=found.average_precision, minp=found.inverse_penalty)
    return _means_over_queries(found.classes, scores | _found_by(found.first_rank, ranks))


def graph_scores(
    g: Graph, y: ArrayLike, scores: ArrayLike | None = None, fprs: Sequence[float] = (1e-3, 1e-2)
) -> IdentityScores:
    """Return the edge noise rate, and with `scores` of the edges AUC and TPR at `fprs`, for `bootstrap` and `compare`.

    Memory with `scores`: 24 bytes an edge while they are sorted, 6 afterwards. A resample in which no edge joins, or
    none separates, classes has no AUC and is left out of the interval.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=2)
    >>> graph_scores(g, [0, 0, 1, 1], kf.sim_s(g), fprs=[0.01]).values()
    {'edge_noise_rate': 0.5, 'auc': 1.0, 'tpr_at_fpr_0.01': 1.0}
    """
    n, k = g.indices.shape
    labels = numbered(y, n)
    rows = labels.copy()
    unknown = np.flatnonzero(rows < 0)
    rows[unknown] = rows.max() + 1 + np.arange(len(unknown))
    size = np.bincount(rows)
    noise = np.bincount(rows, edge_noise_rate(g, y, per_node=True))
    if scores is None:
        return IdentityScores(("edge_noise_rate",), rows, lambda w: np.array([noise @ w / (size @ w)]))
    values = np.asarray(scores)
    if values.shape != g.indices.shape or np.isnan(values).any():
        raise InputError(f"scores must be numbers aligned with the graph, {g.indices.shape}, not {values.shape}")
    best_first = np.argsort(values, axis=None)[::-1]
    tie_ends = np.append(np.diff(values.ravel()[best_first]) != 0, True)
    asker = (best_first // k).astype(np.int32)
    kin = (labels[g.indices.ravel()[best_first]] == labels[asker]) & (labels[asker] >= 0)
    if kin.all() or not kin.any():
        raise InputError(
            "the edges join only same or only different classes: an AUC needs both kinds; leave out scores"
        )
    limits = np.asarray(fprs, dtype=np.float64)

    def at(w: Values) -> Values:
        return np.array([noise @ w / (size @ w), *_weighted_roc(kin, tie_ends, w[rows], asker, limits)])

    return IdentityScores(("edge_noise_rate", "auc", *(f"tpr_at_fpr_{fpr:g}" for fpr in fprs)), rows, at)


def _found_by(first_rank: Values, ranks: Sequence[int]) -> dict[str, Values]:
    return {f"cmc_{rank}": (first_rank <= rank).astype(np.float64) for rank in ranks}


def _means_over_queries(classes: NDArray[np.int64], scores: Mapping[str, Values]) -> IdentityScores:
    rows = numbered(classes)
    queries = np.bincount(rows)
    sums = np.stack([np.bincount(rows, column) for column in scores.values()])
    return IdentityScores(tuple(scores), rows, lambda weights: sums @ weights / (queries @ weights))


def _resampled(
    results: Sequence[IdentityScores], resamples: int, level: float, seed: int, show_progress: bool
) -> list[Values]:
    """Return the scores of each result on the same resamples: (resamples, scores) each."""
    if resamples < 1 or not 0 < level < 1:
        raise InputError(f"resamples must be 1 or more and level between 0 and 1, not {resamples} and {level}")
    identities = results[0].identities
    if identities < 2:
        raise InputError("an interval over identities needs at least two of them")
    rng = np.random.default_rng(seed)
    scores = [np.empty((resamples, len(result.names))) for result in results]
    with progress("resampling identities", resamples, show=show_progress) as advance:
        for r in range(resamples):
            drawn = np.bincount(rng.integers(identities, size=identities), minlength=identities).astype(np.float64)
            for result, found in zip(results, scores, strict=True):
                found[r] = result.at(drawn)
            advance()
    return scores


def _ends(drawn: Values, values: Sequence[float], level: float) -> list[list[float]]:
    """Return the lower and the upper ends of the intervals around `values`, from (resamples, scores)."""
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    if not len(defined):
        raise InputError("no resample has both edges within classes and between them: an AUC needs both kinds")
    quantiles = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return (quantiles - defined.mean(axis=0) + values).tolist()


@nb.njit(cache=True)
def _weighted_roc(
    kin: NDArray[np.bool_], tie_ends: NDArray[np.bool_], weights: Values, asker: NDArray[np.int32], limits: Values
) -> Values:
    """Walk down the edges, best first, each counting the weight of its asker: AUC, then TPR at each limit of FPR."""
    positives, negatives = 0.0, 0.0
    for edge in range(len(kin)):
        if kin[edge]:
            positives += weights[asker[edge]]
        else:
            negatives += weights[asker[edge]]
    result = np.zeros(1 + len(limits))
    if positives == 0 or negatives == 0:
        result[:] = np.nan
        return result
    tied_kin, tied_strangers, above, wrong = 0.0, 0.0, 0.0, 0.0
    for edge in range(len(kin)):
        if kin[edge]:
            tied_kin += weights[asker[edge]]
        else:
            tied_strangers += weights[asker[edge]]
        if tie_ends[edge]:
            result[0] += tied_strangers * (above + tied_kin / 2) / (positives * negatives)
            above, wrong = above + tied_kin, wrong + tied_strangers
            tied_kin, tied_strangers = 0.0, 0.0
            for limit in range(len(limits)):
                if wrong / negatives <= limits[limit]:
                    result[1 + limit] = above / positives
    return result
