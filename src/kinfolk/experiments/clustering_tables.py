"""Tables 3 and 10 of the paper: clusters of faces and of persons, from features as given and enhanced.

Every threshold is tuned on the training part (`kinfolk.experiments.clustering_methods`); the test part is scored once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk.experiments.claims import ClaimSource, SeededScore, SetScores, best, higher, sets_of
from kinfolk.experiments.clustering_methods import (
    CLASSICAL_METHODS,
    G_CUT,
    INFOMAP,
    KIN,
    LEARNED_METHODS,
    RECENT_METHODS,
    ClusteringMethod,
    Sample,
    Settings,
)
from kinfolk.experiments.feature_methods import BAND, FEATURE_METHODS, GCN_BAND, ORIGINAL, FeatureCache, FeatureMethod
from kinfolk.experiments.generated_sets import CELEBRITIES, PERSONS, Size
from kinfolk.experiments.results import Claim, Table
from kinfolk.experiments.resume import Data, labels_of
from kinfolk.experiments.task_cells import ScoredCell, ScoredCells, Study, TaskCell, beside_the_paper, needed_seeds
from kinfolk.metrics import bcubed, clustering_scores, pairwise, resampled

SCORE_HEADS = {"fp": "F_P", "fb": "F_B"}


@dataclass(frozen=True)
class Clustering:
    """The task of these tables: cluster in one clustering."""

    method: ClusteringMethod

    def row(self, features: str) -> str:
        """Return the name of the row; clusterers of the features as given have only their own name."""
        alone = features == ORIGINAL.name and self.method not in (G_CUT, INFOMAP)
        return self.method.name if alone else f"{features} + {self.method.name}"

    def facts(self, data: Data) -> Mapping[str, Any]:
        """Return what the clusters depend on."""
        method = self.method
        return dict(
            clusterer=method.clusterer,
            settings=dict(method.settings),
            choices=dict(method.choices),
            told=method.needs_class_count,  # the name in the keys of finished cells
        )


def row_groups() -> list[list[tuple[FeatureMethod, ClusteringMethod]]]:
    """Return what the table measures, in groups as the paper draws lines.

    >>> [len(group) for group in row_groups()]
    [7, 3, 8, 8, 2]
    """
    return [
        [(ORIGINAL, clustering) for clustering in (*CLASSICAL_METHODS, *RECENT_METHODS)],
        [(ORIGINAL, clustering) for clustering in LEARNED_METHODS],
        [(features, G_CUT) for features in FEATURE_METHODS],
        [(features, INFOMAP) for features in FEATURE_METHODS],
        [(ORIGINAL, KIN), (BAND, KIN)],
    ]


def clustering_cells(data: Sequence[str], seeds: Sequence[int], size: Size | None) -> list[TaskCell]:
    """Return the cells: set by set, seed by seed, and all that starts from the same features together.

    >>> len(clustering_cells(["celeb_like (generated)"], [0], "usual"))
    28
    """
    pairs = sorted((pair for group in row_groups() for pair in group), key=lambda pair: FEATURE_METHODS.index(pair[0]))
    return [
        TaskCell(name, method, Clustering(clustering), seed)
        for name in data
        for seed in seeds
        for method, clustering in pairs
        if seed in needed_seeds(size is not None, method, clustering.random, seeds)
    ]


def measure(feature_cache: FeatureCache, cell: TaskCell, data: Data, key: str) -> ScoredCell:
    """Tune on the training part, cluster the test part, score it."""
    assert isinstance(cell.task, Clustering)
    clustering, labels = cell.task.method, labels_of(data.test)
    if clustering.learns:
        return _measure_learned(cell, clustering, data, key)
    start = time.perf_counter()
    chosen: Settings = {}
    if clustering.tune is not None:
        chosen = clustering.tune(clustering, Sample(*feature_cache.tuning(cell.method, data, cell.seed)), cell.seed)
    tuned = time.perf_counter() - start
    enhanced = feature_cache.test(cell.method, data, cell.seed)
    start = time.perf_counter()
    if clustering.enhances:
        sample, given = Sample(data.test.features, labels), dict(enhancer=enhanced.enhancer or "auto")
    else:
        sample, given = Sample(enhanced.features, labels), chosen
    clusters = clustering.clusters(sample, cell.seed, given)
    seconds = time.perf_counter() - start + (0.0 if clustering.enhances else enhanced.seconds)
    return ScoredCell.of(
        cell,
        key,
        scores=_scores(labels, clusters),
        chosen=chosen,
        trained=enhanced.enhancer is not None and enhanced.enhancer.trained_,
        seconds=round(seconds, 2),
        fit_seconds=round(tuned + enhanced.fit_seconds, 2),
        draws=_draws(labels, clusters),
    )


def _measure_learned(cell: TaskCell, clustering: ClusteringMethod, data: Data, key: str) -> ScoredCell:
    """Fit to the training part, cluster the test part, score it."""
    start = time.perf_counter()
    model = clustering.make(cell.seed, show_progress=False).fit(data.train, labels_of(data.train))
    fitted = time.perf_counter()
    clusters = model.predict(data.test)
    return ScoredCell.of(
        cell,
        key,
        scores=_scores(labels_of(data.test), clusters),
        chosen=dict(k=model.k_, **model.settings_),
        trained=True,
        seconds=round(time.perf_counter() - fitted, 2),
        fit_seconds=round(fitted - start, 2),
        draws=_draws(labels_of(data.test), clusters),
    )


def _scores(labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> dict[str, float]:
    return dict(fp=100 * pairwise(labels, clusters).f, fb=100 * bcubed(labels, clusters).f)


def _draws(labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> dict[str, list[float]]:
    drawn = resampled(clustering_scores(labels, clusters), resamples=200)
    return dict(f=(50 * (drawn["pairwise_f"] + drawn["bcubed_f"])).round(2).tolist())


def is_learned(cell: TaskCell) -> bool:
    """Return whether a cell trains a learned clusterer, which takes minutes.

    >>> [is_learned(cell) for cell in clustering_cells(["celeb_like"], [0], "usual")].count(True)
    3
    """
    return isinstance(cell.task, Clustering) and cell.task.method.learns


def clustering_tables(table: str, paper_columns: Mapping[str, str], found: ScoredCells) -> list[Table]:
    """Return the tables beside the paper's numbers."""
    groups = [[Clustering(clustering).row(method.name) for method, clustering in group] for group in row_groups()]
    return beside_the_paper(table, groups, found, SCORE_HEADS, paper_columns)


def clustering_claims(where: str, found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about clusters, by the mean of F_P and F_B; and the same for kinfolk's features."""
    claims: list[Claim] = []
    for here in sets_of(found):
        f = {row: _mean_f(here, row) for row in dict.fromkeys(cell.row for cell, _ in here.found)}
        for ours, source in (
            (GCN_BAND, ClaimSource(where, "(F_P + F_B)/2", here.data)),
            (BAND.name, ClaimSource(f"{where}, for kinfolk's own", "(F_P + F_B)/2", here.data)),
        ):
            for clustering in (G_CUT, INFOMAP):
                mine = f.get(f"{ours} + {clustering.name}")
                given = f.get(f"{ORIGINAL.name} + {clustering.name}")
                claims += higher(f"{clustering.name}: {ours} is better than the given features", source, mine, given)
                known = {rival.name: f.get(rival.name) for rival in (*CLASSICAL_METHODS, *LEARNED_METHODS)}
                claims += best(
                    f"{ours} + {clustering.name} is better than classical and learned peers", source, mine, known
                )
            claims += higher(
                f"On {ours} Infomap is better than G-cut", source, f.get(f"{ours} + Infomap"), f.get(f"{ours} + G-cut")
            )
    return claims


def _mean_f(here: SetScores, row: str) -> SeededScore | None:
    rows = here.rows(lambda cell: cell.row == row)
    halved = [replace(r, scores=dict(f=(r.scores["fp"] + r.scores["fb"]) / 2)) for r in rows]
    return SeededScore.of(halved, "f")


ABOUT = "Every threshold is tuned on the training part; the test part is clustered and scored once."
STUDIES = {
    "table3": Study(
        "Table 3: clusters of faces",
        ABOUT,
        (CELEBRITIES,),
        clustering_cells,
        measure,
        partial(clustering_tables, "table3", {"part1_fp": "MS-Celeb part 1 F_P", "part1_fb": "F_B"}),
        claims=partial(clustering_claims, "Section 3.4, Table 3"),
        slow=is_learned,
    ),
    "table10": Study(
        "Table 10: clusters of persons",
        ABOUT,
        (PERSONS,),
        clustering_cells,
        measure,
        partial(clustering_tables, "table10", {"msmt17_fp": "MSMT17 F_P", "msmt17_fb": "F_B"}),
        claims=partial(clustering_claims, "Appendix A.5, Table 10"),
        slow=is_learned,
    ),
}
