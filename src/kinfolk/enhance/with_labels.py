"""The `fast` recipe on the whole graph: a metric and the k of the propagation, from labels.

The identities are dealt into folds. A metric is learned from all folds but one and judged on that one, alone among
unseen identities as new data are; the mean of these metrics and of one learned from all is used, with the strength that
was best on the unseen folds. By what factor k differs from the k that is found without labels is chosen on the
features as given, from the labels of all training identities: the metric has not touched them. Last, each fold is
enhanced by the label-free form and by the settings chosen with its own metric; unless that is better, the label-free
form is kept. The averaged metric itself has no identities left to be judged on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.progress import Advance, progress
from kinfolk._core.rows import of_length_one
from kinfolk.enhance.propagation import Propagation, after_hops, attention_weights
from kinfolk.features import UnitRows
from kinfolk.kinship.choose_k import k_after_training, k_for_features, neighbors_to_choose
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.metrics import mean_average_precision
from kinfolk.neighbors import NeighborGraph, knn_graph

if TYPE_CHECKING:
    from kinfolk.training.session import Session

FOLDS = 3
FEWEST_CLASSES = 6  # two a fold
TEMPERATURES = (0.1, 0.2)
STRENGTHS = (0.0, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0)
QUERIES = 1500
K_FACTORS = (1.0, 0.7, 0.5)  # of the label-free k: one too large costs more than one too small


@dataclass(frozen=True)
class Chosen:
    """What labels chose: metric (d, d) or None, k without and with labels, scores on held-back identities."""

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


def fit_with_labels(given: LabelledGraph, settings: Propagation, session: Session, k: int | None = None) -> Chosen:
    """Choose the settings, then learn the metric from all identities.

    Parameters
    ----------
    given : the rows of length one with their graph and classes.
    k : a fixed number of neighbours, or None to choose it.

    Examples
    --------
    >>> import kinfolk as kf
    >>> from kinfolk.training.session import Session
    >>> fs = kf.datasets.celeb_like(n_identities=12)
    >>> chosen = fit_with_labels(LabelledGraph.of(kf.features.unit_rows(fs), fs.labels), Propagation(), Session())
    >>> chosen.scores["trained"] >= chosen.scores["label-free"]
    True
    """
    folds = _folds(given.classes, session.seed)
    quiet = replace(session, show_progress=False)
    steps = len(TEMPERATURES) * (len(folds) + 1) + len(folds) + len(K_FACTORS)
    with progress("learning, choosing on held-back identities", steps, session.show_progress) as advance:
        learned = _metrics_without(given, folds, quiet, advance)
        strength = _choose_strength(given, folds, learned)
        fitted = k or _choose_k(given, settings, advance)
        scores = _compare(given, folds, learned, strength, settings, fitted, k)
        advance(len(folds))
        if scores["trained"] <= scores["label-free"]:
            return Chosen(None, given.k, given.k, scores)
        metric: NDArray[np.float32] | None = None
        if strength:
            everybody = _mean_metrics(given, {"metric": np.arange(len(given.X))}, quiet, advance)
            metric = _blend(np.mean([*learned, *everybody], axis=0, dtype=np.float32), strength)
    return Chosen(metric, given.k, fitted, scores)


@dataclass(frozen=True)
class LabelledGraph:
    """Rows X (n, d) of length one, their classes (n,), their graph, and the k of the label-free form."""

    X: NDArray[np.float32]
    classes: NDArray[np.int64]
    graph: NeighborGraph
    k: int

    @classmethod
    def of(
        cls,
        X: NDArray[np.float32],
        classes: NDArray[np.int64],
        k: int | None = None,
        graph: NeighborGraph | None = None,
    ) -> LabelledGraph:
        """Search for the neighbours and choose k, unless they are given."""
        if graph is None:
            graph = knn_graph(UnitRows(X), k=neighbors_to_choose(len(X)), show_progress=False)
        return cls(X, classes, graph, k or k_for_features(KinshipNetwork.shipped(), graph))

    def precision(self, k: int, settings: Propagation) -> float:
        """Return the mean average precision after the hops; no map is distilled, which helps all settings alike."""
        weights = attention_weights(settings, KinshipNetwork.shipped(), self.graph, max(1, min(k, self.graph.k)))
        Z = after_hops(settings.hops, weights, self.graph.indices, self.X)
        return _precision(of_length_one(Z), self.classes)


def _precision(unit: NDArray[np.float32], classes: NDArray[np.int64]) -> float:
    return mean_average_precision(UnitRows(unit), classes, n_queries=min(QUERIES, len(unit)))


def _folds(classes: NDArray[np.int64], seed: int) -> list[NDArray[np.int64]]:
    """Deal the identities into folds and return the rows of each."""
    identities = np.random.default_rng(seed).permutation(np.unique(classes))
    # those with a pair are dealt first, so that every fold can be scored
    identities = identities[np.argsort(np.bincount(classes)[identities] < 2, kind="stable")]
    return [np.flatnonzero(np.isin(classes, identities[f::FOLDS])) for f in range(FOLDS)]


def _metrics_without(
    given: LabelledGraph, folds: list[NDArray[np.int64]], session: Session, advance: Advance
) -> list[NDArray[np.float32]]:
    """Return a metric for each fold that never saw it."""
    everybody = np.arange(len(given.X))
    others = {f"metric fold={f}": np.setdiff1d(everybody, fold) for f, fold in enumerate(folds)}
    return _mean_metrics(given, others, session, advance)


def _mean_metrics(
    given: LabelledGraph, parts: dict[str, NDArray[np.int64]], session: Session, advance: Advance
) -> list[NDArray[np.float32]]:
    """Return for each part of the rows the mean of the metrics learned at all temperatures: it overfits less."""
    from kinfolk.training.metric import ConfusedClasses, MetricTask, learn_metrics, neighbors_among

    tasks = []
    for name, rows in parts.items():
        batches = ConfusedClasses(neighbors_among(given.graph, given.X, rows), given.classes[rows])
        tasks += [MetricTask(f"{name} t={t}", given.X[rows], batches, t) for t in TEMPERATURES]
    learned = np.stack(learn_metrics(tasks, session, advance))
    return list(learned.reshape(len(parts), len(TEMPERATURES), *learned.shape[1:]).mean(axis=1, dtype=np.float32))


def _choose_strength(given: LabelledGraph, folds: list[NDArray[np.int64]], learned: list[NDArray[np.float32]]) -> float:
    """Return the strength of the metric that is best for unseen identities."""
    scores = np.zeros((len(folds), len(STRENGTHS)))
    for f, (fold, metric) in enumerate(zip(folds, learned, strict=True)):
        for s, strength in enumerate(STRENGTHS):
            scores[f, s] = _precision(apply_metric(given.X[fold], metric, strength), given.classes[fold])
    return STRENGTHS[int(scores.mean(axis=0).argmax())]


def _choose_k(given: LabelledGraph, settings: Propagation, advance: Advance) -> int:
    """Return the best k for these rows."""
    tried = []
    for factor in K_FACTORS:
        k = max(1, round(factor * given.k))
        tried.append((given.precision(k, settings), k))
        advance(1)
    return max(tried, key=lambda found: found[0])[1]


def _compare(
    given: LabelledGraph,
    folds: list[NDArray[np.int64]],
    learned: list[NDArray[np.float32]],
    strength: float,
    settings: Propagation,
    fitted: int,
    k: int | None,
) -> dict[str, float]:
    """Return the scores of the label-free and the trained form, each fold a new set to a model of the other folds."""
    before, after = [], []
    for fold, metric in zip(folds, learned, strict=True):
        plain = LabelledGraph.of(given.X[fold], given.classes[fold], k)
        moved = LabelledGraph.of(apply_metric(plain.X, metric, strength), plain.classes, plain.k)
        before.append(plain.precision(plain.k, settings))
        after.append(moved.precision(k or k_after_training(plain.k, given.k, fitted), settings))
    return {"label-free": float(np.mean(before)), "trained": float(np.mean(after))}


def _blend(metric: NDArray[np.float32], strength: float) -> NDArray[np.float32]:
    return np.float32(1 - strength) * np.eye(len(metric), dtype=np.float32) + np.float32(strength) * metric
