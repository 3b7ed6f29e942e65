"""Scores of the pairs of a neighbour graph: how many edges are wrong, and how well a similarity separates them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk.metrics._labels import numbered

BLOCK_PAIRS = 1 << 22  # edges of a block: labels, flags and scores of about 100 MiB


class Graph(Protocol):
    """Anything with (n, k) neighbour rows."""

    @property
    def indices(self) -> NDArray[np.int32]: ...  # noqa: D102


class Roc(NamedTuple):
    """A receiver operating characteristic: at `thresholds[t]` the rates `fpr[t]` and `tpr[t]`, all exact."""

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    thresholds: NDArray[np.float32]


@overload
def edge_noise_rate(g: Graph, y: ArrayLike, per_node: Literal[False] = False) -> float: ...
@overload
def edge_noise_rate(g: Graph, y: ArrayLike, per_node: Literal[True]) -> NDArray[np.float64]: ...
def edge_noise_rate(g: Graph, y: ArrayLike, per_node: bool = False) -> float | NDArray[np.float64]:
    r"""Return the share of noisy edges, those between different classes, averaged over the rows (ENR).

    ENR_i = |{j in V_i : y_j != y_i}| / |V_i|

    Parameters
    ----------
    g : graph with indices (n, k).
    y : (n,) classes, whole numbers or texts; edges from or to a row below zero, or with an empty text, are noisy.
    per_node : return ENR_i of each row instead of the mean.

    Returns
    -------
    A number from 0 to 1, or (n,) of them.

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=2)
    >>> kf.metrics.edge_noise_rate(g, [0, 0, 1, 1])
    0.5
    """
    rates = np.concatenate([1.0 - same.mean(axis=1) for _, same in _same_class(g, y)])
    return rates if per_node else float(rates.mean())


def pair_auc(g: Graph, scores: ArrayLike, y: ArrayLike) -> float:
    r"""Return the area under the ROC curve of `scores` over all neighbour pairs, exact, ties counted half.

    AUC = P(score of a same-class pair > score of another pair) + P(equal) / 2

    Parameters
    ----------
    g : graph with indices (n, k).
    scores : (n, k) aligned with the graph.
    y : (n,) classes, as in `edge_noise_rate`.

    Returns
    -------
    A number from 0 to 1. Memory: one copy of the scores and blocks of 100 MiB.

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=2)
    >>> kf.metrics.pair_auc(g, kf.sim_s(g), [0, 0, 1, 1])
    1.0
    """
    return float(_auc(*_sorted_scores(g, scores, y)))


def roc(g: Graph, scores: ArrayLike, y: ArrayLike, points: int = 1000) -> Roc:
    """Return the ROC curve of `scores` over all neighbour pairs at about `points` thresholds, each point exact.

    Half of the points are spread evenly, half towards false positive rate 0, where verification is decided.

    Parameters
    ----------
    g, scores, y : as in `pair_auc`.
    points : about the number of thresholds.

    Returns
    -------
    Roc(fpr, tpr, thresholds), thresholds falling.

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=2)
    >>> curve = kf.metrics.roc(g, kf.sim_s(g), [0, 0, 1, 1])
    >>> float(curve.tpr[curve.fpr == 0].max())
    1.0
    """
    positive, negative = _sorted_scores(g, scores, y)
    rates = np.concatenate([np.linspace(0, 1, points // 2), np.geomspace(1 / len(negative), 1, points - points // 2)])
    ranks = np.clip(len(negative) - np.ceil(rates * len(negative)).astype(np.int64), 0, len(negative) - 1)
    chosen = np.unique(np.concatenate([negative[ranks], positive[:1]]))
    # just above a negative score and at it: between the two the curve rises straight, ties included
    thresholds = np.unique(np.concatenate([chosen, np.nextafter(chosen, np.float32(np.inf)), [np.float32(np.inf)]]))[
        ::-1
    ]
    above = [1.0 - np.searchsorted(s, thresholds, side="left") / len(s) for s in (negative, positive)]
    return Roc(fpr=above[0], tpr=above[1], thresholds=thresholds)


def tpr_at_fpr(g: Graph, scores: ArrayLike, y: ArrayLike, fprs: ArrayLike) -> NDArray[np.float64]:
    r"""Return the true positive rate over all neighbour pairs at given false positive rates, exactly.

    TPR(f) = max { P(score of a same-class pair >= t) : P(score of another pair >= t) <= f }

    The best of all thresholds that keep the rate; nothing is interpolated.

    Parameters
    ----------
    g, scores, y : as in `pair_auc`.
    fprs : false positive rates from 0 to 1.

    Returns
    -------
    True positive rates, in the shape of `fprs`.

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1]], k=2)
    >>> kf.metrics.tpr_at_fpr(g, kf.sim_s(g), [0, 0, 1, 1], [0, 0.5])
    array([1., 1.])
    """
    rates = np.asarray(fprs, dtype=np.float64)
    if not np.all((rates >= 0) & (rates <= 1)):
        raise InputError(f"fprs must lie between 0 and 1, not {rates.tolist()}")
    positive, negative = _sorted_scores(g, scores, y)
    n = len(negative)
    allowed = np.round(rates * n).astype(np.int64)
    allowed -= allowed / n > rates  # a product such as 0.29 * 100 may round to the wrong side of a whole number
    one_too_many = negative[n - 1 - np.minimum(allowed, n - 1)]
    missed = np.where(allowed < n, np.searchsorted(positive, one_too_many, side="right"), 0)
    return (len(positive) - missed) / len(positive)


def _same_class(g: Graph, y: ArrayLike) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    n, k = g.indices.shape
    labels = numbered(y, n)
    step = max(1, BLOCK_PAIRS // k)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        own = labels[rows, None]
        yield rows, (labels[g.indices[rows]] == own) & (own >= 0)


def _sorted_scores(g: Graph, scores: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    values = np.asarray(scores)
    if values.shape != g.indices.shape:
        raise InputError(f"scores must be aligned with the graph, {g.indices.shape}, not {values.shape}")
    both = np.empty(values.size, dtype=values.dtype)  # same-class pairs from the front, the others from the back
    front, back = 0, values.size
    for rows, same in _same_class(g, y):
        block = values[rows]
        if np.isnan(block).any():
            raise InputError(f"scores: a NaN between rows {rows.start} and {rows.stop}")
        count = int(np.count_nonzero(same))
        both[front : front + count] = block[same]
        both[back - same.size + count : back] = block[~same]
        front, back = front + count, back - same.size + count
    positive, negative = both[:front], both[front:]
    if len(positive) == 0 or len(negative) == 0:
        kind = "same class" if len(positive) == 0 else "different classes"
        raise InputError(f"no pair of the graph joins {kind}: a ROC curve needs both kinds")
    positive.sort()
    negative.sort()
    return positive, negative


@kernel()
def _auc(positive: NDArray[np.float32], negative: NDArray[np.float32]) -> float:
    """Walk once through both sorted sides: for each positive, the negatives below it and half of those equal."""
    below, upto = 0, 0
    wins = 0.0
    for value in positive:
        while below < len(negative) and negative[below] < value:
            below += 1
        upto = max(upto, below)
        while upto < len(negative) and negative[upto] == value:
            upto += 1
        wins += below + 0.5 * (upto - below)
    return wins / len(positive) / len(negative)
