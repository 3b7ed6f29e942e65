"""The clustering methods of Tables 3 and 10: fixed settings, and how the others are tuned on the training part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kinfolk.cluster as clusterers
from kinfolk.cluster._internal.sweep import balance, score_merges
from kinfolk.neighbors import NeighborGraph, knn_graph

GRAPH_K = 80  # neighbours of the graph that the methods on graphs share
Settings = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """Features to cluster (n, d), the graph of their 80 nearest neighbours, and their labels."""

    features: NDArray[np.float32]
    labels: NDArray[np.int64]

    @cached_property
    def graph(self) -> NeighborGraph:
        """The graph, built at the first use."""
        return knn_graph(self.features, min(GRAPH_K, len(self.features) - 1), show_progress=False)


@dataclass(frozen=True)
class ClusteringMethod:
    """A clusterer of `kinfolk.cluster` in a table.

    settings           fixed ones
    tune               chooses the others on labelled rows of the training part; None: nothing to choose
    choices            what `tune` chooses from
    needs_class_count  it gets the true number of classes
    on_graph           it works on the neighbour graph, else on the features
    random             another seed gives other clusters
    enhances           it gets the features as they are, and the trained enhancer of the row if there is one
    learns             it is fitted to the training part, where it also chooses its thresholds
    """

    name: str
    clusterer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tune: Callable[[ClusteringMethod, Sample, int], Settings] | None = None
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    needs_class_count: bool = False
    on_graph: bool = True
    random: bool = False
    enhances: bool = False
    learns: bool = False

    def clusters(self, sample: Sample, seed: int, chosen: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the clusters of a sample."""
        more: Settings = dict(chosen)
        if self.needs_class_count:
            more["n_clusters"] = len(np.unique(sample.labels))
        return self.make(seed, **more).fit_predict(sample.graph if self.on_graph else sample.features)

    def make(self, seed: int, **more: Any) -> clusterers.Clusterer:
        """Return the clusterer with its fixed settings and these."""
        seeded = dict(random_state=seed) if self.random else {}
        return getattr(clusterers, self.clusterer)(**self.settings, **seeded, **more)


def best_settings(method: ClusteringMethod, sample: Sample, seed: int, candidates: Iterator[Settings]) -> Settings:
    """Return the candidate with the best balance of precision and recall on a labelled sample."""
    return max(candidates, key=lambda chosen: balance(sample.labels, method.clusters(sample, seed, chosen)))


def tune_gcut(method: ClusteringMethod, sample: Sample, seed: int) -> Settings:
    """Choose G-cut's threshold from all thresholds at once."""
    return dict(threshold=clusterers.GCut(**method.settings).tune(sample.graph, sample.labels).threshold)


def tune_hac(method: ClusteringMethod, sample: Sample, seed: int) -> Settings:
    """Choose the level at which the hierarchy is cut."""
    merges = clusterers.HAC(**method.settings, threshold=0.0).fit(sample.graph).merges_
    levels = np.linspace(merges.similarity.max(), merges.similarity.min(), method.choices["levels"][0])
    return dict(threshold=score_merges(merges, levels, sample.labels, len(sample.labels)).oracle.threshold)


def tune_by_grid(method: ClusteringMethod, sample: Sample, seed: int) -> Settings:
    """Choose from all combinations of the method's choices."""
    combinations = (dict(zip(method.choices, values, strict=True)) for values in product(*method.choices.values()))
    return best_settings(method, sample, seed, combinations)


def tune_edges(method: ClusteringMethod, sample: Sample, seed: int) -> Settings:
    """Choose k and which edges are kept: those above the automatic threshold of Sim-M, or a share of all."""

    def candidates() -> Iterator[Settings]:
        for k in method.choices["k"]:
            yield dict(k=k, threshold="auto")
            for share in method.choices["share"]:
                yield dict(k=k, threshold=float(np.quantile(sample.graph.similarities[:, :k], 1 - share)))

    return best_settings(method, sample, seed, candidates())


G_CUT = ClusteringMethod("G-cut", "GCut", dict(k=GRAPH_K), tune_gcut)
INFOMAP = ClusteringMethod(
    "Infomap", "Infomap", {}, tune_edges, dict(k=(20, 40), share=(1.0, 0.75, 0.5, 0.25)), random=True
)
KIN = ClusteringMethod("Kin", "Kin", on_graph=False, random=True, enhances=True)
CLASSICAL_METHODS = (
    ClusteringMethod("K-Means", "KMeans", needs_class_count=True, on_graph=False, random=True),
    ClusteringMethod("HAC", "HAC", dict(k=GRAPH_K), tune_hac, dict(levels=(400,))),
    ClusteringMethod(
        "DBSCAN",
        "DBSCAN",
        dict(k=GRAPH_K),
        tune_by_grid,
        dict(eps=tuple(np.arange(0.05, 0.85, 0.05).round(2).tolist()), min_samples=(2, 5)),
    ),
)
RECENT_METHODS = (
    ClusteringMethod("HDBSCAN", "HDBSCAN", {}, tune_by_grid, dict(min_cluster_size=(3, 5, 10)), on_graph=False),
    ClusteringMethod("FINCH", "Finch", {}, tune_by_grid, dict(level=(0, 1, 2)), on_graph=False),
    ClusteringMethod(
        "Leiden",
        "Leiden",
        dict(k=40, objective="cpm"),
        tune_by_grid,
        dict(resolution=(0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)),
        random=True,
    ),
    ClusteringMethod(
        "Chinese Whispers",
        "ChineseWhispers",
        {},
        tune_by_grid,
        dict(k=(10, 20, 40), threshold=(0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
        random=True,
    ),
)
# in the order of the paper's Table 3
LEARNED_METHODS = (
    ClusteringMethod("Clusformer", "Clusformer", on_graph=False, random=True, learns=True),
    ClusteringMethod("STAR-FC", "StarFC", on_graph=False, random=True, learns=True),
    ClusteringMethod("Ada-NETS", "AdaNets", on_graph=False, random=True, learns=True),
)
