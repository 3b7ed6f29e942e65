"""One test against many on one data set: everything the demo shows, measured once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.experiments.edge_noise import EdgeNoise, edge_noise_over_k
from kinfolk.features import FeatureSet
from kinfolk.metrics import Roc, roc
from kinfolk.neighbors import knn_graph
from kinfolk.similarity import sim_m, sim_s

TRUE_EDGES_KEPT = 0.95


@dataclass(frozen=True)
class Scored:
    """One similarity over the edges of a graph: scores (n, k), its ROC curve, and the noisy edges it lets through."""

    name: str
    scores: NDArray[np.float32]
    curve: Roc

    @property
    def noise_let_through(self) -> float:
        """Share of the noisy edges that pass where 95 % of the true edges do."""
        return float(np.interp(TRUE_EDGES_KEPT, self.curve.tpr, self.curve.fpr))


@dataclass(frozen=True)
class EdgeStudy:
    """A labelled set, its edge noise over k, and both similarities at one k."""

    name: str
    origin: str
    features: FeatureSet
    over_k: list[EdgeNoise]
    k: int
    same_class: NDArray[np.bool_]
    one_test: Scored
    many_tests: Scored

    @property
    def sentence(self) -> str:
        """What came out, for a person."""
        one, many = self.one_test.noise_let_through, self.many_tests.noise_let_through
        return (
            f"Keep {TRUE_EDGES_KEPT:.0%} of the true edges at k={self.k}: one test lets {one:.1%} of the noisy edges "
            f"through, many tests {many:.1%}."
        )


def edge_study(name: str, origin: str, fs: FeatureSet, ks: Sequence[int], k: int) -> EdgeStudy:
    """Measure Sim-S and Sim-M on the edges of a set, over `ks` and closely at `k`.

    >>> import kinfolk as kf
    >>> study = edge_study("digits", "real", kf.datasets.digits(), [10, 20], k=20)
    >>> study.many_tests.noise_let_through < study.one_test.noise_let_through
    True
    """
    if fs.labels is None:
        raise InputError(f"{name} has no labels: whether an edge is wrong cannot be measured")
    graph = knn_graph(fs, max(ks))
    shown = graph.restrict(k)
    one, many = (
        Scored(title, scores, roc(shown, scores, fs.labels))
        for title, scores in (("Sim-S, one test", sim_s(shown)), ("Sim-M, many tests", sim_m(shown)))
    )
    same_class = fs.labels[shown.indices] == fs.labels[:, None]
    return EdgeStudy(name, origin, fs, edge_noise_over_k(fs, ks, graph), k, same_class, one, many)
