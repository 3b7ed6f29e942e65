"""One test against many on the edges of one labelled set: over k as in Tables 1 and 5, and closely at one k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.experiments.paper import paper_table
from kinfolk.features import FeatureSet
from kinfolk.metrics import Roc, edge_noise_rate, pair_auc, roc
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.similarity import sim_m, sim_s

TRUE_EDGES_KEPT = 0.95  # the operating point at which one test and many are compared in one sentence


class EdgeNoise(NamedTuple):
    """One row of Table 1: at k neighbours the edge noise rate and the AUC x 100 of Sim-S and of Sim-M."""

    k: int
    enr: float
    auc_s: float
    auc_m: float


@dataclass(frozen=True)
class ScoredEdges:
    """One similarity over the edges of a graph: its name, scores (n, k) and ROC curve."""

    name: str
    scores: NDArray[np.float32]
    curve: Roc

    @property
    def noise_let_through(self) -> float:
        """Share of the noisy edges that pass the threshold at which 95 % of the true edges do."""
        return float(np.interp(TRUE_EDGES_KEPT, self.curve.tpr, self.curve.fpr))


@dataclass(frozen=True)
class EdgeStudy:
    """A labelled set, its edge noise over k, and both similarities at one k; same_class (n, k): the true edges."""

    name: str
    origin: str
    features: FeatureSet
    over_k: list[EdgeNoise]
    k: int
    same_class: NDArray[np.bool_]
    one_test: ScoredEdges
    many_tests: ScoredEdges

    @property
    def sentence(self) -> str:
        """The comparison of one test and many in one sentence."""
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
        ScoredEdges(title, scores, roc(shown, scores, fs.labels))
        for title, scores in (("Sim-S, one test", sim_s(shown)), ("Sim-M, many tests", sim_m(shown)))
    )
    same_class = fs.labels[shown.indices] == fs.labels[:, None]
    return EdgeStudy(name, origin, fs, edge_noise_over_k(fs, ks, graph), k, same_class, one, many)


def edge_noise_over_k(fs: FeatureSet, ks: Sequence[int], graph: NeighborGraph | None = None) -> list[EdgeNoise]:
    """Measure a labelled set at every k, all from one graph of the largest k.

    >>> import kinfolk as kf
    >>> rows = edge_noise_over_k(kf.datasets.digits(), [5, 10])
    >>> [row.k for row in rows], rows[0].enr < rows[1].enr
    ([5, 10], True)
    """
    if fs.labels is None:
        raise InputError("edge noise needs labels: this set has none")
    graph = graph or knn_graph(fs, max(ks))
    rows = []
    for k in ks:
        g = graph.restrict(k)
        scores = [100 * pair_auc(g, sim(g), fs.labels) for sim in (sim_s, sim_m)]
        rows.append(EdgeNoise(k, edge_noise_rate(g, fs.labels), *scores))
    return rows


def paper_edge_noise(data: str) -> list[EdgeNoise]:
    """Return the paper's own rows for "ms-celeb" (Table 1), "msmt17" or "veri-776" (Table 5).

    >>> paper_edge_noise("msmt17")[0]
    EdgeNoise(k=5, enr=0.06, auc_s=89.23, auc_m=89.74)
    """
    rows = [row for name in ("table1", "table5") for row in paper_table(name) if row["data"] == data]
    return [EdgeNoise(int(r["k"]), float(r["enr"]), float(r["auc_s"]), float(r["auc_m"])) for r in rows]
