"""Cells of Tables 2, 6 to 9 and Figures 3 to 7: how good features are, for retrieval and for verification.

mAP   mean average precision: each of up to 3,000 items of the test part is a query, all others are the gallery
AUC   of the cosine over the pairs that are neighbours in the graph of the features as given, the same pairs for all
      methods; the points of its ROC curve at `FPRS`. Where all pairs are of one kind there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk.experiments.claims import SetScores, sets_of
from kinfolk.experiments.enhance_study import pair_cosines
from kinfolk.experiments.feature_methods import FeatureCache, FeatureMethod
from kinfolk.experiments.generated_sets import GENERATED_SETS, Size
from kinfolk.experiments.results import Chart, Line, Lines, Table
from kinfolk.experiments.resume import Data, labels_of
from kinfolk.experiments.task_cells import ScoredCell, ScoredCells, TaskCell, needed_seeds
from kinfolk.features import FeatureSet
from kinfolk.metrics import edge_noise_rate, graph_scores, pair_auc, resampled, retrieval_scores, roc
from kinfolk.neighbors import knn_graph

MAP_QUERIES, QUALITY_DRAWS = 3000, 500  # queries of mAP; resamples of the identities for intervals
FPRS = np.geomspace(1e-4, 1, 81)  # where a ROC curve is kept: 20 points a decade
ZOOM = (1e-3, 1e-1, 0.5, 1.0)  # the corner of a ROC panel in which the methods differ
SHOWN_FPRS = (0.001, 0.01)  # of the tables


@dataclass(frozen=True)
class Quality:
    """The task of these tables: score features.

    k     neighbours of the graph whose pairs are scored; None: the k that fits the training part (`Data.kin_k`)
    part  the scale of the test part, 1 to 9 (`Data.grown`); None: whole
    """

    k: int | None = None
    part: int | None = None

    def row(self, features: str) -> str:
        """Return the name of the row: that of the features."""
        return features

    def facts(self, data: Data) -> Mapping[str, Any]:
        """Return what the scores depend on."""
        part = None if self.part is None else data.part_facts(self.part)
        return dict(quality=self.k or data.kin_k, part=part, queries=MAP_QUERIES, draws=QUALITY_DRAWS)


def at_k(method: FeatureMethod, k: int | None) -> FeatureMethod:
    """Return the method with this k where it is an encoder of sub-graphs; others choose theirs.

    >>> from kinfolk.experiments.feature_methods import BAND, PAPER_METHODS
    >>> at_k(PAPER_METHODS[0], 30).settings["k"], at_k(BAND, 30) == BAND
    (30, True)
    """
    if k is None or method.settings is None or method.settings.get("model") != "subgraph":
        return method
    return replace(method, settings={**method.settings, "k": k})


def quality_cells(
    methods: Sequence[FeatureMethod],
    names: Sequence[str],
    seeds: Sequence[int],
    size: Size | None,
    parts: Sequence[int | None] = (None,),
) -> list[TaskCell]:
    """Return the cells of some methods, each at its own k on generated sets; the pairs scored are those of band's k.

    >>> from kinfolk.experiments.feature_methods import PAPER_METHODS
    >>> cells = quality_cells(PAPER_METHODS[:1], ["person_like (generated)"], [0, 1], "usual")
    >>> [(cell.method.settings["k"], cell.task.k) for cell in cells]
    [(10, 30), (10, 30)]
    """
    return [
        TaskCell(name, at_k(method, size and GENERATED_SETS[name].k_of(method.name, size)), Quality(k, part), seed)
        for name in names
        for k in [size and GENERATED_SETS[name].k[size]]
        for seed in seeds
        for method in methods
        if seed in needed_seeds(size is not None, method, False, seeds)
        for part in parts
    ]


def measure_quality(feature_cache: FeatureCache, cell: TaskCell, data: Data, key: str) -> ScoredCell:
    """Enhance the test part and score its features."""
    assert isinstance(cell.task, Quality)
    enhanced = feature_cache.test(cell.method, data, cell.seed, cell.task.part)
    test = data.test if cell.task.part is None else data.grown(cell.task.part)
    k = min(cell.task.k or data.kin_k, len(test) - 1)
    scores, draws, curves = _scored(enhanced.features, test, k, seed_of_draws=cell.task.part or 0)
    return ScoredCell.of(
        cell,
        key,
        scores=scores,
        chosen=dict(k=k if enhanced.enhancer is None else int(enhanced.enhancer.k_), rows=len(test)),
        trained=enhanced.enhancer is not None and enhanced.enhancer.trained_,
        seconds=enhanced.seconds,
        fit_seconds=enhanced.fit_seconds,
        draws=draws,
        curves=curves,
    )


def _scored(
    Z: NDArray[np.float32], test: FeatureSet, k: int, seed_of_draws: int
) -> tuple[dict[str, float], dict[str, list[float]], dict[str, list[float]]]:
    labels = labels_of(test)
    graph = knn_graph(test, k, show_progress=False)
    found = retrieval_scores(Z, labels, n_queries=min(MAP_QUERIES, len(labels)))
    draws = dict(map=(100 * resampled(found, QUALITY_DRAWS, seed_of_draws)["map"]).round(2).tolist())
    scores = dict(map=100 * found.values()["map"], enr=edge_noise_rate(graph, labels))
    if not 0 < scores["enr"] < 1:  # else all pairs are of one kind, and there is no AUC
        return scores, draws, {}
    cosines = pair_cosines(Z, graph)
    drawn = resampled(graph_scores(graph, labels, cosines, fprs=()), QUALITY_DRAWS, seed_of_draws)
    draws["auc"] = (100 * drawn["auc"]).round(2).tolist()
    scores["auc"] = 100 * pair_auc(graph, cosines, labels)
    curve = roc(graph, cosines, labels)
    tpr = np.interp(FPRS, curve.fpr, curve.tpr)
    for fpr in SHOWN_FPRS:
        scores[f"tpr_{fpr:g}"] = 100 * float(np.interp(fpr, curve.fpr, curve.tpr))
    return scores, draws, dict(tpr=tpr.round(4).tolist())


def roc_table(here: SetScores, rows: Mapping[str, Callable[[TaskCell], bool]]) -> Table:
    """Return ROC curves in numbers: AUC, and the kin kept at two shares of strangers let through."""
    scores = {"auc": "AUC", **{f"tpr_{fpr:g}": f"kin kept at {fpr:.1%} strangers" for fpr in SHOWN_FPRS}}
    shown = []
    for label, wanted in rows.items():
        measured = [here.score(score, wanted) for score in scores]
        shown.append((label, *("–" if e is None else e.text() for e in measured)))
    return Table(data=here.data, head=("", *scores.values()), rows=tuple(shown))


def roc_panel(title: str, here: SetScores, rows: Mapping[str, Callable[[TaskCell], bool]]) -> Lines:
    """Return ROC curves, one for each label, the mean over the seeds of the cells it wants."""
    lines = []
    for label, wanted in rows.items():
        curves = [row.curves["tpr"] for row in here.rows(wanted) if "tpr" in row.curves]
        if curves:
            lines.append(Line(label=label, x=tuple(FPRS.tolist()), y=tuple(np.mean(curves, axis=0).tolist())))
    return Lines(
        title=title,
        xlabel="strangers let through (false positive rate)",
        ylabel="kin kept (true positive rate)",
        lines=tuple(lines),
        log_x=True,
        zoom=ZOOM,
    )


def roc_chart(name: str, title: str, labels: Mapping[str, str], found: ScoredCells) -> list[Chart]:
    """Return a panel of ROC curves for each set: {name of the row: label}."""
    rows = {label: named(row) for row, label in labels.items()}
    panels = tuple(roc_panel(here.data, here, rows) for here in sets_of(found))
    text = "Pairs of neighbours: at each share of strangers let through, the share of kin kept; higher is better."
    return [Chart(name=name, title=title, text=text, panels=panels)] if panels else []


def roc_tables(labels: Mapping[str, str], found: ScoredCells) -> list[Table]:
    """Return the curves of `roc_chart` in numbers, a table for each set."""
    rows = {label: named(row) for row, label in labels.items()}
    return [roc_table(here, rows) for here in sets_of(found)]


def named(row: str) -> Callable[[TaskCell], bool]:
    """Return a test whether a cell is of this row.

    >>> from kinfolk.experiments.feature_methods import ORIGINAL
    >>> named("original")(TaskCell("digits", ORIGINAL, Quality()))
    True
    """
    return lambda cell: cell.row == row
