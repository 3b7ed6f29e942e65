"""What enhancing does to a labelled set: raw features, enhanced without labels, and trained on other identities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.enhance import GraphEnhancer
from kinfolk.features import FeatureSet, unit_rows
from kinfolk.metrics import mean_average_precision
from kinfolk.neighbors import NeighborGraph, knn_graph

RAW_VERSION, LABEL_FREE_VERSION, TRAINED_VERSION = "raw", "label-free", "trained"


@dataclass(frozen=True)
class Version:
    """One form of the features: rows (n, d) of length one, their mAP x 100, the cosine of each neighbour pair (n, k).

    The pairs are the edges of the raw graph in every version, so that their cosines can be compared. `enhancer`: what
    made it; None for the raw features.
    """

    name: str
    features: NDArray[np.float32]
    map: float
    similarities: NDArray[np.float32]
    enhancer: GraphEnhancer | None = None


@dataclass(frozen=True)
class EnhanceStudy:
    """A labelled set in all its versions, raw first. `shown` are the classes that are confused most, for a picture."""

    name: str
    note: str
    labels: NDArray[np.int64]
    same_class: NDArray[np.bool_]
    shown: NDArray[np.int64]
    versions: list[Version]

    @property
    def scores(self) -> dict[str, float]:
        """The mAP x 100 of each version: {"raw": ..., "label-free": ...}."""
        return {version.name: version.map for version in self.versions}


def enhance_study(
    name: str, note: str, fs: FeatureSet, learn_from: FeatureSet | None = None, *, k: int = 40, seed: int = 0
) -> EnhanceStudy:
    """Enhance a labelled set without its labels and, given other identities, trained on these; score every version.

    Memory: a few copies of the features, and d floats for each edge of a block of rows.

    >>> import kinfolk as kf
    >>> study = enhance_study("digits", "real", kf.datasets.digits())
    >>> study.scores["label-free"] > study.scores["raw"] + 10
    True
    """
    if fs.labels is None:
        raise InputError(f"{name} has no labels: what enhancing does cannot be measured")
    graph = knn_graph(fs, k, show_progress=False)
    versions = [
        Version(title, X, 100 * mean_average_precision(X, fs.labels), pair_cosines(X, graph), enhancer)
        for title, X, enhancer in _enhanced(fs, learn_from, seed)
    ]
    same_class = fs.labels[graph.indices] == fs.labels[:, None]
    return EnhanceStudy(name, note, fs.labels, same_class, most_confused(graph, fs.labels), versions)


def pair_cosines(X: NDArray[np.float32], graph: NeighborGraph) -> NDArray[np.float32]:
    """Return x_i x_j for every edge of a graph, of rows of length one: (n, d) -> (n, k).

    >>> import kinfolk as kf
    >>> X = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    >>> pair_cosines(X, kf.knn_graph(X, k=1)).tolist()
    [[1.0], [1.0], [0.0]]
    """
    step = max(1, (1 << 22) // (graph.k * X.shape[1]))
    blocks = [slice(start, start + step) for start in range(0, len(X), step)]
    return np.concatenate([np.einsum("id,ikd->ik", X[rows], X[graph.indices[rows]]) for rows in blocks])


def most_confused(graph: NeighborGraph, labels: NDArray[np.int64], count: int = 6) -> NDArray[np.int64]:
    """Return the class with the most edges to other classes and those it shares them with most, in rising order.

    >>> import kinfolk as kf
    >>> X = [[1, 0], [1, 0.3], [1, 0.1], [1, 0.4], [0, 1], [0.1, 1]]
    >>> most_confused(kf.knn_graph(X, k=2), np.array([5, 5, 6, 6, 7, 7]), count=2)
    array([5, 6])
    """
    classes, numbers = np.unique(labels, return_inverse=True)
    start, end = np.repeat(numbers, graph.k), numbers[graph.indices].ravel()
    wrong = start != end
    worst = np.bincount(start[wrong], minlength=len(classes)).argmax()
    others = np.concatenate([end[start == worst], start[end == worst]])
    shared = np.bincount(others, minlength=len(classes))
    shared[worst] = shared.max() + 1
    return np.sort(classes[np.argsort(-shared, kind="stable")[:count]])


def planes(versions: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float64]]:
    """Return each version (m, d) in the plane of its two main axes (m, 2), turned to lie on the first one.

    P = X V R,  V: the first two right singular vectors of the centred X,  R = argmin |X V R - P_first|,  R R' = I

    >>> X = np.random.default_rng(0).standard_normal((20, 5))
    >>> first, second = planes([X, -2 * X])
    >>> np.allclose(second, 2 * first)
    True
    """
    points: list[NDArray[np.float64]] = []
    for X in versions:
        centred = X - X.mean(axis=0, dtype=np.float64)
        P = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
        if points:
            left, _, right = np.linalg.svd(P.T @ points[0])
            P = P @ left @ right
        points.append(P)
    return points


def _enhanced(
    fs: FeatureSet, learn_from: FeatureSet | None, seed: int
) -> Iterator[tuple[str, NDArray[np.float32], GraphEnhancer | None]]:
    yield RAW_VERSION, unit_rows(fs), None
    free = GraphEnhancer(random_state=seed)
    yield LABEL_FREE_VERSION, free.fit_transform(fs), free
    if learn_from is not None:
        trained = GraphEnhancer(random_state=seed).fit(learn_from, learn_from.labels)
        yield TRAINED_VERSION, trained.transform(fs), trained
