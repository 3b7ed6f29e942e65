"""How noisy a neighbour graph is, and how well one test and many tests see it, over k (Tables 1 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinfolk._core.errors import InputError
from kinfolk.experiments.paper import paper_table
from kinfolk.features import FeatureSet
from kinfolk.metrics import edge_noise_rate, pair_auc
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.similarity import sim_m, sim_s


class EdgeNoise(NamedTuple):
    """One row of Table 1: at k neighbours the edge noise rate and the AUC x 100 of Sim-S and of Sim-M."""

    k: int
    enr: float
    auc_s: float
    auc_m: float


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
