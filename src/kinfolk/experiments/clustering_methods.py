"""Ways of clustering for Tables 3 and 10: what is told, what is tuned on the training part, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk import cluster
from kinfolk.cluster._internal.sweep import balance, score_merges
from kinfolk.neighbors import NeighborGraph, knn_graph

GRAPH_K = 80
Settings = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """Features to cluster (n, d), the graph of their 80 nearest neighbours, and their labels."""

    features: NDArray[np.float32]
    labels: NDArray[np.int64]

    @cached_property
    def graph(self) -> NeighborGraph:
        """The graph, built when it is first asked for."""
        return knn_graph(self.features, min(GRAPH_K, len(self.features) - 1), show_progress=False)


@dataclass(frozen=True)
class Way:
    """A clusterer of `kf.cluster` in a table.

    told      it gets the true number of classes
    on_graph  it works on the neighbour graph, else on the features
    settings  fixed ones
    tune      chooses the others on labelled rows of the training part, from the choices; None: nothing to choose
    random    another seed gives other clusters
    enhances  it gets the features as they are, and the enhancer of the row where there is a trained one
    learns    it is fitted to the training part, where it also chooses its thresholds
    """

    name: str
    clusterer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tune: Callable[[Way, Sample, int], Settings] | None = None
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    told: bool = False
    on_graph: bool = True
    random: bool = False
    enhances: bool = False
    learns: bool = False

    def clusters(self, sample: Sample, seed: int, chosen: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the clusters of a sample."""
        more: Settings = dict(chosen)
        if self.told:
            more["n_clusters"] = len(np.unique(sample.labels))
        return self.make(seed, **more).fit_predict(sample.graph if self.on_graph else sample.features)

    def make(self, seed: int, **more: Any) -> cluster.Clusterer:
        """Return the clusterer with its fixed settings and these."""
        seeded = dict(random_state=seed) if self.random else {}
        return getattr(cluster, self.clusterer)(**self.settings, **seeded, **more)


def best_of(way: Way, sample: Sample, seed: int, candidates: Iterator[Settings]) -> Settings:
    """Return the candidate with the best balance on a labelled sample."""
    return max(candidates, key=lambda chosen: balance(sample.labels, way.clusters(sample, seed, chosen)))


def cut_gcut(way: Way, sample: Sample, seed: int) -> Settings:
    """Choose G-cut's threshold from all thresholds at once."""
    return dict(threshold=cluster.GCut(**way.settings).tune(sample.graph, sample.labels).threshold)


def cut_hac(way: Way, sample: Sample, seed: int) -> Settings:
    """Choose where to cut the hierarchy."""
    merges = cluster.HAC(**way.settings, threshold=0.0).fit(sample.graph).merges_
    levels = np.linspace(merges.similarity.max(), merges.similarity.min(), way.choices["levels"][0])
    return dict(threshold=score_merges(merges, levels, sample.labels, len(sample.labels)).oracle.threshold)


def from_grid(way: Way, sample: Sample, seed: int) -> Settings:
    """Choose from all combinations of the way's choices."""
    combinations = (dict(zip(way.choices, values, strict=True)) for values in product(*way.choices.values()))
    return best_of(way, sample, seed, combinations)


def cut_edges(way: Way, sample: Sample, seed: int) -> Settings:
    """Choose how many neighbours a row has and the edges that stay: those many tests believe, or a share of all."""

    def candidates() -> Iterator[Settings]:
        for k in way.choices["k"]:
            yield dict(k=k, threshold="auto")
            for share in way.choices["share"]:
                yield dict(k=k, threshold=float(np.quantile(sample.graph.similarities[:, :k], 1 - share)))

    return best_of(way, sample, seed, candidates())


G_CUT = Way("G-cut", "GCut", dict(k=GRAPH_K), cut_gcut)
INFOMAP = Way("Infomap", "Infomap", {}, cut_edges, dict(k=(20, 40), share=(1.0, 0.75, 0.5, 0.25)), random=True)
KIN = Way("Kin", "Kin", on_graph=False, random=True, enhances=True)
CLASSICAL = (
    Way("K-Means", "KMeans", told=True, on_graph=False, random=True),
    Way("HAC", "HAC", dict(k=GRAPH_K), cut_hac, dict(levels=(400,))),
    Way(
        "DBSCAN",
        "DBSCAN",
        dict(k=GRAPH_K),
        from_grid,
        dict(eps=tuple(np.arange(0.05, 0.85, 0.05).round(2).tolist()), min_samples=(2, 5)),
    ),
)
TODAY = (
    Way("HDBSCAN", "HDBSCAN", {}, from_grid, dict(min_cluster_size=(3, 5, 10)), on_graph=False),
    Way("FINCH", "Finch", {}, from_grid, dict(level=(0, 1, 2)), on_graph=False),
    Way(
        "Leiden",
        "Leiden",
        dict(k=40, objective="cpm"),
        from_grid,
        dict(resolution=(0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)),
        random=True,
    ),
    Way(
        "Chinese Whispers",
        "ChineseWhispers",
        {},
        from_grid,
        dict(k=(10, 20, 40), threshold=(0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
        random=True,
    ),
)
# as the paper's Table 3 orders them
PEERS = (
    Way("Clusformer", "Clusformer", on_graph=False, random=True, learns=True),
    Way("STAR-FC", "StarFC", on_graph=False, random=True, learns=True),
    Way("Ada-NETS", "AdaNets", on_graph=False, random=True, learns=True),
)
