"""The `fast` recipe on the whole graph: a metric and the numbers of the propagation, from labels.

The identities are dealt into folds. A metric is learned from all folds but one and judged on that one, alone among
unseen identities as new data are; the mean of these metrics and of one learned from all is used, with the strength that
was best on the unseen folds. By what factor k differs from the k that is found without labels is chosen on the
features as given, from the labels of all training identities: the metric has not touched them. Last, each fold is
enhanced by the label-free form and by the settings chosen with its own metric; unless that is better, the label-free
form is kept. The averaged metric itself has no identities left to be judged on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kinfolk.features import of_length_one
from kinfolk.metrics.retrieval import mean_average_precision
from kinfolk.nn.kinship import Kinship, kin_scale, label_free_graph
from kinfolk.nn.propagate import Propagation, attention_rows, propagate
from kinfolk.progress import progress
from kinfolk.training.metric import learn_metric
from kinfolk.training.session import Session

FOLDS = 3
FEWEST_CLASSES = 6
TEMPERATURES = (0.1, 0.2)
STRENGTHS = (0.0, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0)
QUERIES = 1500
K_FACTORS = (1.0, 0.7, 0.5)  # of the label-free k: one too large costs more than one too small
SAME_SIZE = 2.0  # up to this ratio two label-free k are two guesses at the same number


@dataclass(frozen=True)
class Chosen:
    """What `fit` found: metric (d, d) or None, k_free without labels, k from labels, scores on held-back identities."""

    metric: NDArray[np.float32] | None
    k_free: int
    k: int
    scores: dict[str, float]


def apply_metric(X: NDArray[np.float32], metric: NDArray[np.float32] | None, strength: float = 1.0) -> NDArray:
    """Return normalise(x (I + strength (W - I))).

    >>> apply_metric(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32) * 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if metric is None or not strength:
        return X
    return of_length_one(np.float32(1 - strength) * X + np.float32(strength) * (X @ metric))


def fit_fast(
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    settings: Propagation,
    session: Session,
    k: int | None = None,
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
    steps = len(TEMPERATURES) * (len(folds) + 1) + len(folds) + len(K_FACTORS)
    with progress("learning, choosing on held-back identities", steps, session.show_progress) as advance:
        strength, learned = _choose_metric(X, classes, folds, quiet, advance)
        given = Evaluation(X, classes, Kinship.shipped(), k)
        fitted = given.k if k else _choose_k(given, settings, advance)
        scores = _compare(X, classes, folds, learned, strength, settings, (given.k, fitted), k)
        advance(len(folds))
        if scores["trained"] <= scores["label-free"]:
            return Chosen(None, given.k, given.k, scores)
        metric: NDArray[np.float32] | None = None
        if strength:
            everybody = _mean_metric(X, classes, "metric", quiet, advance)
            metric = _blend(np.mean([*learned, everybody], axis=0, dtype=np.float32), strength)
    return Chosen(metric, given.k, fitted, scores)


def k_for(own: int, k_free: int, k: int) -> int:
    """Return k for new rows whose label-free k is `own`, after a fit that found `k_free` without labels, k with them.

    A set with classes of about the same size gets the k of the fit, another one its own, changed as labels changed it.

    >>> k_for(own=25, k_free=20, k=14), k_for(own=100, k_free=20, k=14)
    (14, 70)
    """
    return k if 1 / SAME_SIZE <= own / k_free <= SAME_SIZE else max(1, round(own * k / k_free))


def _compare(
    X: NDArray[np.float32],
    classes: NDArray[np.int64],
    folds: list[NDArray[np.int64]],
    learned: list[NDArray[np.float32]],
    strength: float,
    settings: Propagation,
    fitted: tuple[int, int],
    k: int | None,
) -> dict[str, float]:
    """Return the scores of the label-free and the trained form, each fold a new set to a model of the other folds."""
    before, after = [], []
    for fold, metric in zip(folds, learned, strict=True):
        plain = Evaluation(X[fold], classes[fold], Kinship.shipped(), k)
        moved = Evaluation(apply_metric(X[fold], metric, strength), classes[fold], Kinship.shipped(), k or plain.k)
        before.append(plain.precision(plain.k, settings))
        after.append(moved.precision(k or k_for(plain.k, *fitted), settings))
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
    """The graph of some rows, its label-free k unless one is given, and how well a propagation on it ranks."""

    def __init__(  # noqa: D107
        self, X: NDArray[np.float32], classes: NDArray[np.int64], net: Kinship, k: int | None
    ) -> None:
        self.X, self.classes, self.net = X, classes, net
        self.graph = label_free_graph(X)
        self.k = k or kin_scale(net, self.graph)

    def precision(self, k: int, settings: Propagation) -> float:
        """Return the mean average precision after the hops."""
        weights = attention_rows(settings, self.net, self.graph, max(1, min(k, self.graph.k)))
        Z = self.X
        for _ in range(settings.hops):
            Z = propagate(weights, self.graph.indices, Z, Z)
        return mean_average_precision(Z, self.classes, n_queries=QUERIES)


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
    return STRENGTHS[int(scores.mean(axis=0).argmax())], learned


def _mean_metric(
    X: NDArray[np.float32], classes: NDArray[np.int64], name: str, session: Session, advance: Callable[[int], None]
) -> NDArray[np.float32]:
    """Return the mean of the metrics learned at all temperatures: it overfits less than each of them."""
    learned = []
    for temperature in TEMPERATURES:
        learned.append(learn_metric(X, classes, temperature, f"{name} t={temperature}", session))
        advance(1)
    return np.mean(learned, axis=0, dtype=np.float32)


def _choose_k(evaluation: Evaluation, settings: Propagation, advance: Callable[[int], None]) -> int:
    """Return the best k for these rows."""
    tried = []
    for factor in K_FACTORS:
        k = max(1, round(factor * evaluation.k))
        tried.append((evaluation.precision(k, settings), k))
        advance(1)
    return max(tried, key=lambda found: found[0])[1]
