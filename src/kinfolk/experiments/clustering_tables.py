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

from kinfolk.experiments.claims import Evidence, Measurements, Place, best, higher, sets_of
from kinfolk.experiments.clustering_methods import CLASSICAL, G_CUT, INFOMAP, KIN, PEERS, TODAY, Sample, Settings, Way
from kinfolk.experiments.feature_methods import BAND, FORMS, GCN_BAND, ORIGINAL, Method, Workshop
from kinfolk.experiments.generated_sets import CELEBRITIES, PERSONS, Size
from kinfolk.experiments.results import Claim, Table
from kinfolk.experiments.resume import Data, labels_of
from kinfolk.experiments.task_cells import Found, Scored, Study, TaskCell, beside_the_paper, needed_seeds
from kinfolk.metrics import bcubed, clustering_scores, pairwise, resampled

SCORES = {"fp": "F_P", "fb": "F_B"}
DRAWS = 200


@dataclass(frozen=True)
class Clustering:
    """The task of these tables: cluster in one way."""

    way: Way

    def row(self, features: str) -> str:
        """Return the name of the row; what is known for clustering raw features needs only its own."""
        alone = features == ORIGINAL.name and self.way not in (G_CUT, INFOMAP)
        return self.way.name if alone else f"{features} + {self.way.name}"

    def facts(self, data: Data) -> Mapping[str, Any]:
        """Return what the clusters depend on."""
        way = self.way
        return dict(clusterer=way.clusterer, settings=dict(way.settings), choices=dict(way.choices), told=way.told)


def rows_of() -> list[list[tuple[Method, Way]]]:
    """Return what the table measures, in groups as the paper draws lines.

    >>> [len(group) for group in rows_of()]
    [7, 3, 8, 8, 2]
    """
    return [
        [(ORIGINAL, way) for way in (*CLASSICAL, *TODAY)],
        [(ORIGINAL, way) for way in PEERS],
        [(form, G_CUT) for form in FORMS],
        [(form, INFOMAP) for form in FORMS],
        [(ORIGINAL, KIN), (BAND, KIN)],
    ]


def clustering_cells(data: Sequence[str], seeds: Sequence[int], size: Size | None) -> list[TaskCell]:
    """Return the cells: set by set, seed by seed, and all that starts from the same features together.

    >>> len(clustering_cells(["celeb_like (generated)"], [0], "usual"))
    28
    """
    pairs = sorted((pair for group in rows_of() for pair in group), key=lambda pair: FORMS.index(pair[0]))
    return [
        TaskCell(name, method, Clustering(way), seed)
        for name in data
        for seed in seeds
        for method, way in pairs
        if seed in needed_seeds(size is not None, method, way.random, seeds)
    ]


def measure(workshop: Workshop, cell: TaskCell, data: Data, key: str) -> Scored:
    """Tune on the training part, cluster the test part, score it."""
    assert isinstance(cell.task, Clustering)
    way, labels = cell.task.way, labels_of(data.test)
    if way.learns:
        return _measure_learned(cell, way, data, key)
    start = time.perf_counter()
    chosen: Settings = {}
    if way.tune is not None:
        chosen = way.tune(way, Sample(*workshop.tuning(cell.method, data, cell.seed)), cell.seed)
    tuned = time.perf_counter() - start
    enhanced = workshop.test(cell.method, data, cell.seed)
    start = time.perf_counter()
    if way.enhances:
        sample, given = Sample(data.test.features, labels), dict(enhancer=enhanced.enhancer or "auto")
    else:
        sample, given = Sample(enhanced.features, labels), chosen
    clusters = way.clusters(sample, cell.seed, given)
    seconds = time.perf_counter() - start + (0.0 if way.enhances else enhanced.seconds)
    return Scored.of(
        cell,
        key,
        scores=_scores(labels, clusters),
        chosen=chosen,
        trained=enhanced.enhancer is not None and enhanced.enhancer.trained_,
        seconds=round(seconds, 2),
        fit_seconds=round(tuned + enhanced.fit_seconds, 2),
        draws=_draws(labels, clusters),
    )


def _measure_learned(cell: TaskCell, way: Way, data: Data, key: str) -> Scored:
    """Fit to the training part, cluster the test part, score it."""
    start = time.perf_counter()
    model = way.make(cell.seed, show_progress=False).fit(data.train, labels_of(data.train))
    fitted = time.perf_counter()
    clusters = model.predict(data.test)
    return Scored.of(
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
    drawn = resampled(clustering_scores(labels, clusters), DRAWS)
    return dict(f=(50 * (drawn["pairwise_f"] + drawn["bcubed_f"])).round(2).tolist())


def is_learned(cell: TaskCell) -> bool:
    """Tell whether a cell trains one of the learned peers, which takes minutes.

    >>> [is_learned(cell) for cell in clustering_cells(["celeb_like"], [0], "usual")].count(True)
    3
    """
    return isinstance(cell.task, Clustering) and cell.task.way.learns


def clustering_tables(table: str, paper_columns: Mapping[str, str], found: Found) -> list[Table]:
    """Return the tables beside the paper's numbers."""
    groups = [[Clustering(way).row(method.name) for method, way in group] for group in rows_of()]
    return beside_the_paper(table, groups, found, SCORES, paper_columns)


def clustering_claims(where: str, found: Found) -> list[Claim]:
    """Return what the paper says about clusters, by the mean of F_P and F_B; and the same of kinfolk's own features."""
    claims: list[Claim] = []
    for here in sets_of(found):
        f = {row: _mean_f(here, row) for row in dict.fromkeys(cell.row for cell, _ in here.found)}
        for ours, place in (
            (GCN_BAND, Place(where, "(F_P + F_B)/2", here.data)),
            (BAND.name, Place(f"{where}, for kinfolk's own", "(F_P + F_B)/2", here.data)),
        ):
            for way in (G_CUT, INFOMAP):
                mine = f.get(f"{ours} + {way.name}")
                given = f.get(f"{ORIGINAL.name} + {way.name}")
                claims += higher(f"{way.name}: {ours} is better than the given features", place, mine, given)
                known = {rival.name: f.get(rival.name) for rival in (*CLASSICAL, *PEERS)}
                claims += best(f"{ours} + {way.name} is better than classical and learned peers", place, mine, known)
            claims += higher(
                f"On {ours} Infomap is better than G-cut", place, f.get(f"{ours} + Infomap"), f.get(f"{ours} + G-cut")
            )
    return claims


def _mean_f(here: Measurements, row: str) -> Evidence | None:
    rows = here.rows(lambda cell: cell.row == row)
    halved = [replace(r, scores=dict(f=(r.scores["fp"] + r.scores["fb"]) / 2)) for r in rows]
    return Evidence.of(halved, "f")


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
