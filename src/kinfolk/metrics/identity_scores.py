r"""Scores as functions of how often each identity counts, which is what drawing identities again needs.

A resample of the C identities is a weight w_c for each: how often it was drawn.

clustering   The clusters stay as they are. A pair of items of class c counts w_c times, a pair of the classes c and c'
             w_c w_c' times; two draws of one class are not compared (`cell_counts`), or a perfect clustering would
             look wrong. The other scores are means over the items, weighted in the same way.
retrieval,
re-ID        The queries are drawn, the items they search are not: a mean over queries, weighted by w of their class.
graph        Likewise over the rows of the graph: each edge i -> j counts w of the class of i. A row whose class is
             unknown is an identity of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk.features import Matrix
from kinfolk.metrics._contingency import Values, cell_counts, contingency
from kinfolk.metrics._labels import numbered
from kinfolk.metrics.clustering import ari_score, bcubed_score, pairwise_score, v_score
from kinfolk.metrics.pairs import Graph, edge_noise_rate
from kinfolk.metrics.reid import Ranking, reid_queries
from kinfolk.metrics.retrieval import QueryOptions, query_scores


@dataclass(frozen=True, eq=False)
class IdentityScores:
    """Scores as a function of how often each identity counts.

    Parameters
    ----------
    names : of the scores.
    rows : (n,) identity of each row that is scored, numbered from 0: two results on the same rows can be compared.
    at : weights (identities,) -> values (scores,).

    Examples
    --------
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


def clustering_scores(y: ArrayLike, p: ArrayLike) -> IdentityScores:
    """Return the scores of the clustering `p` against the classes `y`, ready for `bootstrap` and `compare`.

    Parameters
    ----------
    y, p : (n,) true classes and clusters, as in `pairwise`.

    Returns
    -------
    IdentityScores: precision, recall and f of pairwise_ and bcubed_, nmi, ari, homogeneity, completeness.

    Examples
    --------
    >>> round(clustering_scores([0, 0, 1, 1], [0, 1, 2, 2]).values()["nmi"], 2)
    0.8
    """
    table = contingency(y, p)
    sides = ("precision", "recall", "f")
    names = [f"{kind}_{side}" for kind in ("pairwise", "bcubed") for side in sides]

    def at(weights: Values) -> Values:
        cells = cell_counts(table, weights)
        v = v_score(cells)
        rest = (v.v, ari_score(cells), v.homogeneity, v.completeness)
        return np.array([*pairwise_score(cells), *bcubed_score(cells), *rest])

    classes = numbered(y)
    return IdentityScores((*names, "nmi", "ari", "homogeneity", "completeness"), classes[classes >= 0], at)


def retrieval_scores(
    X: Matrix, labels: ArrayLike, ranks: Sequence[int] = (1, 5, 10), **options: Unpack[QueryOptions]
) -> IdentityScores:
    """Return the retrieval scores of features, ready for `bootstrap` and `compare`.

    Parameters
    ----------
    X, labels, options : as in `query_scores`. Identities are the classes of queries that have two items or more.
    ranks : of the CMC.

    Returns
    -------
    IdentityScores: map, r_precision, minp, and cmc_ of each rank.

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0.5, 0.5]])
    >>> {name: round(value, 2) for name, value in retrieval_scores(X, [0, 0, 1, 1, 1], ranks=[1]).values().items()}
    {'map': 0.9, 'r_precision': 0.9, 'minp': 0.9, 'cmc_1': 0.8}
    """
    found = query_scores(X, labels, **options)
    scores = dict(map=found.average_precision, r_precision=found.r_precision, minp=found.inverse_penalty)
    return _means_over_queries(found.classes, scores | _matched(found.first_rank, ranks))


def reid_scores(
    ranking: Ranking | ArrayLike | Iterator[Ranking | ArrayLike],
    query_labels: ArrayLike,
    gallery_labels: ArrayLike,
    query_cameras: ArrayLike | None = None,
    gallery_cameras: ArrayLike | None = None,
    ranks: Sequence[int] = (1, 5, 10),
) -> IdentityScores:
    """Return the scores of the re-ID protocol, ready for `bootstrap` and `compare`.

    Parameters
    ----------
    ranking, query_labels, gallery_labels, query_cameras, gallery_cameras : as in `reid`. Identities are those of the
        queries that have an item to find.
    ranks : of the CMC.

    Returns
    -------
    IdentityScores: map, cmc_ of each rank, minp.

    Examples
    --------
    >>> ranking = [[0, 1, 2, 3], [2, 0, 3, 1]]
    >>> reid_scores(ranking, [7, 8], [7, 7, 8, 8], ranks=[1]).values()
    {'map': 0.9166666666666666, 'cmc_1': 1.0, 'minp': 0.8333333333333333}
    """
    found = reid_queries(ranking, query_labels, gallery_labels, query_cameras, gallery_cameras)
    scores = dict(map=found.average_precision) | _matched(found.first_rank, ranks)
    return _means_over_queries(found.classes, scores | dict(minp=found.inverse_penalty))


def graph_scores(
    g: Graph, y: ArrayLike, scores: ArrayLike | None = None, fprs: Sequence[float] = (1e-3, 1e-2)
) -> IdentityScores:
    """Return the edge noise rate and, with `scores` of the edges, their AUC and TPR, for `bootstrap` and `compare`.

    Parameters
    ----------
    g : graph with indices (n, k).
    y : (n,) classes; below zero, or an empty text: unknown.
    scores : (n, k) aligned with the graph. A resample in which no edge joins, or none separates, classes has no AUC and
        is left out of the interval. Memory: 24 bytes an edge while they are sorted, 6 afterwards.
    fprs : false positive rates at which the true positive rate is read.

    Returns
    -------
    IdentityScores: edge_noise_rate; with `scores` also auc, and tpr_at_fpr_ of each rate.

    Examples
    --------
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
    source = (best_first // k).astype(np.int32)
    same = (labels[g.indices.ravel()[best_first]] == labels[source]) & (labels[source] >= 0)
    if same.all() or not same.any():
        raise InputError(
            "the edges join only same or only different classes: an AUC needs both kinds; leave out scores"
        )
    limits = np.asarray(fprs, dtype=np.float64)

    def at(w: Values) -> Values:
        return np.array([noise @ w / (size @ w), *_weighted_roc(same, tie_ends, w[rows], source, limits)])

    return IdentityScores(("edge_noise_rate", "auc", *(f"tpr_at_fpr_{fpr:g}" for fpr in fprs)), rows, at)


def _matched(first_rank: Values, ranks: Sequence[int]) -> dict[str, Values]:
    return {f"cmc_{rank}": (first_rank <= rank).astype(np.float64) for rank in ranks}


def _means_over_queries(classes: NDArray[np.int64], scores: Mapping[str, Values]) -> IdentityScores:
    rows = numbered(classes)
    queries = np.bincount(rows)
    sums = np.stack([np.bincount(rows, column) for column in scores.values()])
    return IdentityScores(tuple(scores), rows, lambda weights: sums @ weights / (queries @ weights))


@kernel()
def _weighted_roc(
    same: NDArray[np.bool_], tie_ends: NDArray[np.bool_], weights: Values, source: NDArray[np.int32], limits: Values
) -> Values:
    """Return the AUC, then the TPR at each limit of the FPR. Edges come best first and have the weight of their source.

    `same`: the edge joins items of one class; `tie_ends`: the next edge has a lower score.
    """
    positives, negatives = 0.0, 0.0
    for edge in range(len(same)):
        if same[edge]:
            positives += weights[source[edge]]
        else:
            negatives += weights[source[edge]]
    result = np.zeros(1 + len(limits))
    if positives == 0 or negatives == 0:
        result[:] = np.nan
        return result
    tied_same, tied_other, true_above, false_above = 0.0, 0.0, 0.0, 0.0
    for edge in range(len(same)):
        if same[edge]:
            tied_same += weights[source[edge]]
        else:
            tied_other += weights[source[edge]]
        if tie_ends[edge]:
            result[0] += tied_other * (true_above + tied_same / 2) / (positives * negatives)
            true_above, false_above = true_above + tied_same, false_above + tied_other
            tied_same, tied_other = 0.0, 0.0
            for limit in range(len(limits)):
                if false_above / negatives <= limits[limit]:
                    result[1 + limit] = true_above / positives
    return result
