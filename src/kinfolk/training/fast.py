"""The `fast` recipe on the whole graph: a metric and the numbers of the propagation, from labels.

The identities are dealt into folds. A metric is learned from all folds but one and judged on that one, alone among
unseen identities as new data are; the mean of these metrics and of one learned from all is used. Its strength is the
smallest with most of the gain: what is learned from few identities holds less on others. k, hops and thetas are chosen
on the features as given, from the labels of all training identities: the metric has not touched them. Last, each fold
is enhanced by the label-free form and by the settings chosen with its own metric; unless that is better, the label-free
form is kept. The averaged metric itself has no identities left to be judged on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kinfolk.metrics.retrieval import mean_average_precision
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.nn.kinship import Kinship, grid_of, kin_blocks, kin_scale
from kinfolk.nn.propagate import Propagation, attention_rows, propagate, weigh
from kinfolk.progress import progress
from kinfolk.similarity.scales import WINDOW
from kinfolk.training.metric import learn_metric
from kinfolk.training.session import Session

FOLDS = 3
FEWEST_CLASSES = 6
TEMPERATURES = (0.1, 0.2)
STRENGTHS = (0.0, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0)
MOST = 0.9  # of the gain of the metric
QUERIES = 1500
K_FACTORS = (1.0, 0.7, 1.4)  # of the label-free k
HOPS = (2, 3, 4)
THETAS: dict[str, dict[str, tuple[float, ...]]] = {
    "none": {},
    "self": {"theta_s": (5.0, 30.0)},
    "quartet": {},
    "band": {"theta_s": (1.0, 3.0)},
}
CLEARLY = 0.002  # the defaults hold on many sets, a small gain on a few identities is chance


@dataclass(frozen=True)
class Chosen:
    """What `fit` found: metric (d, d) or None, the propagation, k, and the scores on held-back identities."""

    metric: NDArray[np.float32] | None
    propagation: Propagation
    k: int
    scores: dict[str, float]


def label_free_graph(X: NDArray[np.float32]) -> NeighborGraph:
    """Return the graph with as many neighbours as any k of the grid looks at.

    >>> label_free_graph(np.eye(10, dtype=np.float32) + 0.1).k
    6
    """
    return knn_graph(X, k=max(1, min(WINDOW * grid_of(len(X))[-1], len(X) - 1)), show_progress=False)


def apply_metric(X: NDArray[np.float32], metric: NDArray[np.float32] | None, strength: float = 1.0) -> NDArray:
    """Return normalise(x (I + strength (W - I))).

    >>> apply_metric(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32) * 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if metric is None or not strength:
        return X
    mapped = (1 - strength) * X + strength * (X @ metric)
    return mapped / np.linalg.norm(mapped, axis=1, keepdims=True)


def fit_fast(
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    start: Propagation,
    session: Session,
    k: int | None = None,
    choose_hops: bool = True,
) -> Chosen:
    """Choose the settings, then learn the metric from all identities: X (n, d) of length one, classes (n,).

    `k`: a fixed number of neighbours, or None to choose it.

    >>> import kinfolk as kf
    >>> fs = kf.datasets.celeb_like(n_identities=12)
    >>> chosen = fit_fast(np.array(fs.features), fs.labels, Propagation(), Session())
    >>> chosen.scores["trained"] >= chosen.scores["label-free"]
    True
    """
    folds = _folds(classes, session.seed)
    quiet = replace(session, show_progress=False)
    steps = len(TEMPERATURES) * (len(folds) + 1) + len(folds) + len(K_FACTORS) + 1
    with progress("learning, choosing on held-back identities", steps, session.show_progress) as advance:
        strength, learned = _choose_metric(X, classes, folds, quiet, advance)
        given = Evaluation(X, classes, Kinship.shipped(), k)
        fitted, chosen = _choose_propagation(given, start, k is None, choose_hops, advance)
        scores = _compare(X, classes, folds, learned, strength, (start, chosen), fitted, k is None)
        advance(len(folds))
        if scores["trained"] <= scores["label-free"]:
            return Chosen(None, start, given.k, scores)
        metric: NDArray[np.float32] | None = None
        if strength:
            everybody = _mean_metric(X, classes, "metric", quiet, advance)
            metric = _blend(np.mean([*learned, everybody], axis=0, dtype=np.float32), strength)
    return Chosen(metric, chosen, fitted, scores)


def k_between(fitted: int, chosen: int) -> int:
    """Return the k for a new set: between the one its training set wanted and the one it seems to want itself.

    >>> k_between(10, 40)
    20
    """
    return max(1, round(float(np.sqrt(fitted * chosen))))


def _compare(
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    folds: list[NDArray[np.int64]],
    learned: list[NDArray[np.float32]],
    strength: float,
    propagations: tuple[Propagation, Propagation],
    fitted: int,
    choose_k: bool,
) -> dict[str, float]:
    """Return the scores of the label-free and the trained form, each fold a new set to a model of the other folds."""
    before, after = [], []
    for fold, metric in zip(folds, learned, strict=True):
        plain, moved = (
            Evaluation(apply_metric(X[fold], metric, s), classes[fold], Kinship.shipped(), None if choose_k else fitted)
            for s in (0.0, strength)
        )
        before.append(plain.precisions(plain.k, propagations[0])[-1])
        after.append(moved.precisions(k_between(fitted, moved.k), propagations[1])[-1])
    return {"label-free": float(np.mean(before)), "trained": float(np.mean(after))}


def _blend(metric: NDArray[np.float32], strength: float) -> NDArray[np.float32]:
    return np.float32(1 - strength) * np.eye(len(metric), dtype=np.float32) + np.float32(strength) * metric


def _folds(classes: NDArray[np.int64], seed: int) -> list[NDArray[np.int64]]:
    """Deal the identities into folds and return the rows of each."""
    identities = np.random.default_rng(seed).permutation(np.unique(classes))
    # those with a pair are dealt first, so that every fold can be scored
    identities = identities[np.argsort(np.bincount(classes)[identities] < 2, kind="stable")]
    return [np.flatnonzero(np.isin(classes, identities[f::FOLDS])) for f in range(FOLDS)]


class Evaluation:
    """The graph of some rows and what the network says of its edges, asked once for each k."""

    def __init__(  # noqa: D107
        self, X: NDArray[np.float32], classes: NDArray[np.int64], net: Kinship, k: int | None
    ) -> None:
        self.X, self.classes, self.net = X, classes, net
        self.graph = label_free_graph(X)
        self.k = k or kin_scale(net, self.graph)
        self._judged: dict[int, tuple[NDArray[np.float32], NDArray[np.bool_]]] = {}

    def precisions(self, k: int, settings: Propagation) -> list[float]:
        """Return the mean average precision after each hop."""
        k = max(1, min(k, self.graph.k))
        if settings.attention in ("none", "self"):
            weights = attention_rows(settings, self.net, self.graph, k)
        else:
            weights = weigh(settings, *self._judge(k), self.graph.similarities)
        Z, found = self.X, []
        for _ in range(settings.hops):
            Z = propagate(weights, self.graph.indices, Z, Z)
            found.append(mean_average_precision(Z, self.classes, n_queries=QUERIES))
        return found

    def _judge(self, k: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        if k not in self._judged:
            blocks = list(kin_blocks(self.net, self.graph, k))
            self._judged = {k: (np.concatenate([b[1] for b in blocks]), np.concatenate([b[2] for b in blocks]))}
        return self._judged[k]


def _choose_metric(
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    folds: list[NDArray[np.int64]],
    session: Session,
    advance: Callable[[int], None],
) -> tuple[float, list[NDArray[np.float32]]]:
    """Return the strength for unseen identities, and a metric for each fold that never saw it."""
    scores = np.zeros((len(folds), len(STRENGTHS)))
    learned = []
    for f, fold in enumerate(folds):
        others = np.setdiff1d(np.arange(len(X)), fold)
        learned.append(_mean_metric(X[others], classes[others], f"metric fold={f}", session, advance))
        for s, strength in enumerate(STRENGTHS):
            mapped = apply_metric(X[fold], learned[-1], strength)
            scores[f, s] = mean_average_precision(mapped, classes[fold], n_queries=QUERIES)
    gains = scores.mean(axis=0) - scores[:, 0].mean()
    return STRENGTHS[int(np.argmax(gains >= MOST * gains.max()))], learned


def _mean_metric(
    X: NDArray[np.float32], classes: NDArray[np.int64], name: str, session: Session, advance: Callable[[int], None]
) -> NDArray[np.float32]:
    """Return the mean of the metrics learned at all temperatures: it overfits less than each of them."""
    learned = []
    for temperature in TEMPERATURES:
        learned.append(learn_metric(X, classes, temperature, f"{name} t={temperature}", session))
        advance(1)
    return np.mean(learned, axis=0, dtype=np.float32)


def _choose_propagation(
    evaluation: Evaluation, start: Propagation, choose_k: bool, choose_hops: bool, advance: Callable[[int], None]
) -> tuple[int, Propagation]:
    """Return k and the propagation; the defaults unless another is clearly better."""
    k, hops, best = _choose_k(evaluation, start, choose_k, choose_hops, advance)
    chosen = replace(start, hops=hops)
    for name, values in THETAS[start.attention].items():
        for value in values:
            settings = replace(chosen, **{name: value})  # type: ignore[arg-type]
            score = evaluation.precisions(k, settings)[-1]
            if score > best + CLEARLY:
                chosen, best = settings, score
    advance(1)
    return k, chosen


def _choose_k(
    evaluation: Evaluation, start: Propagation, choose: bool, choose_hops: bool, advance: Callable[[int], None]
) -> tuple[int, int, float]:
    """Return k, the number of hops and their score; the defaults unless another is clearly better."""
    tried = sorted({*HOPS, start.hops}) if choose_hops else [start.hops]
    best = (evaluation.k, start.hops, -np.inf)
    for factor in K_FACTORS if choose else K_FACTORS[:1]:
        k = max(1, round(evaluation.k * factor))
        scores = evaluation.precisions(k, replace(start, hops=tried[-1]))
        if factor == K_FACTORS[0]:
            best = (k, start.hops, scores[start.hops - 1])
        for hops in tried:
            if scores[hops - 1] > best[2] + CLEARLY:
                best = (k, hops, scores[hops - 1])
        advance(1)
    return best
