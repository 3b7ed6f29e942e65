"""A closer look at the enhancer: learning curves, similarities, cluster sizes and a map, before and after."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster import GCut, Kin
from kinfolk.enhance import KeptTrainingFreeWarning
from kinfolk.experiments.curves import learning_panels
from kinfolk.experiments.enhance_study import (
    TRAINED_VERSION,
    EnhanceStudy,
    Version,
    enhance_study,
    most_confused,
    planes,
)
from kinfolk.experiments.results import Chart, ExperimentResult, Histogram, Lines, Map, Table, TableRow
from kinfolk.experiments.resume import Data, commit, labels_of, versions
from kinfolk.metrics import bcubed, pairwise
from kinfolk.neighbors import knn_graph

PAIRS_K = 40  # neighbours of the pairs whose cosines are shown
MAP_CLASSES, MAP_ROWS = 10, 600  # more cannot be distinguished in a map
SAME, DIFFERENT = "same class", "different classes"

ABOUT = (
    "The test part as given, enhanced without labels, and enhanced by what was learned from the other identities of "
    "the training part (GraphEnhancer and Kin, nothing set). mAP: how early each item finds the others of its class; "
    "F_P and F_B: pairwise and BCubed F of the clusters of Kin, which gets the features as given and the enhancer."
)
PAIRS_TEXT = (
    f"Cosines of each item and its {PAIRS_K} nearest among the features as given, the same pairs in every panel. The "
    "mark is the threshold that G-cut chooses without labels: what lies above it is joined."
)
SIZES_TEXT = "How many clusters of Kin and how many classes have 1, 2, 3-4, 5-8, ... items."
MAP_TEXT = (
    "The classes that are confused most, in the plane of their two main axes (PCA), all turned to lie on the first."
)


class Clustered(NamedTuple):
    """A version of the features, and the clusters that Kin finds (n,)."""

    version: Version
    clusters: NDArray[np.int64]


def closeup(
    sets: Mapping[str, Data], seed: int = 0, quick: bool = False, echo: Callable[[str], object] = print
) -> ExperimentResult:
    """Look closely at each set: raw, enhanced without labels, and trained on the identities of its training part.

    >>> import kinfolk as kf
    >>> found = closeup({"persons": Data.of(kf.datasets.person_like(16, dim=16))}, quick=True, echo=lambda text: None)
    >>> [chart.title for chart in found.charts]
    ['How it learned: persons', 'Similarities: persons', 'Cluster sizes: persons', 'Map: persons']
    """
    start = time.perf_counter()
    tables, charts = [], []
    for name, data in sets.items():
        study, found = _studied(name, data, seed)
        tables.append(_table(name, study, found))
        charts += [*_curves(study), _similarities(study), _sizes(study, found), _map(study, data, seed)]
        echo(f"{name}: mAP {', '.join(f'{title} {score:.1f}' for title, score in study.scores.items())}")
    return ExperimentResult(
        name="closeup",
        title="A closer look at the enhancer",
        about=ABOUT,
        quick=quick,
        tables=tuple(tables),
        charts=tuple(charts),
        seconds=round(time.perf_counter() - start, 2),
        versions=versions(),
    )


def _studied(name: str, data: Data, seed: int) -> tuple[EnhanceStudy, list[Clustered]]:
    k = min(PAIRS_K, len(data.test) - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KeptTrainingFreeWarning)  # the title of the row names it
        study = enhance_study(name, "", data.test, data.train, k=k, seed=seed)
    kin = [Kin(enhancer=version.enhancer, random_state=seed) for version in study.versions]
    return study, [Clustered(v, c.fit_predict(data.test)) for v, c in zip(study.versions, kin, strict=True)]


# ---- the table


def _table(name: str, study: EnhanceStudy, found: Sequence[Clustered]) -> Table:
    scores = [
        (c.version.map, 100 * pairwise(study.labels, c.clusters).f, 100 * bcubed(study.labels, c.clusters).f)
        for c in found
    ]
    best = np.max(scores, axis=0)
    rows: list[TableRow] = []
    for clustered, row in zip(found, scores, strict=True):
        shown = [f"**{s:.1f}**" if s == b else f"{s:.1f}" for s, b in zip(row, best, strict=True)]
        rows.append((f"{_title(clustered.version)} + Kin", *shown, *_counted(clustered.clusters)))
    rows.append(("the classes themselves", "", "", "", *_counted(study.labels)))
    head = ("", "mAP", "F_P", "F_B", "clusters", "singletons")
    return Table(data=name, head=head, rows=tuple(rows), rules=(len(found),), made=f"By commit {commit()}.")


def _title(version: Version) -> str:
    kept = version.name == TRAINED_VERSION and version.enhancer is not None and not version.enhancer.trained_
    return f"{version.name} (label-free form kept)" if kept else version.name


def _counted(labels: NDArray[np.int64]) -> tuple[str, str]:
    sizes = sizes_of(labels)
    return f"{len(sizes):,}", f"{np.count_nonzero(sizes == 1):,}"


def sizes_of(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many items each class has; those whose class is unknown are left out.

    >>> sizes_of(np.array([7, 7, 3, -1, -1, -1]))
    array([1, 2])
    """
    return np.unique(labels[labels >= 0], return_counts=True)[1]


# ---- the charts


def _curves(study: EnhanceStudy) -> list[Chart]:
    """Return the learning curves of the trained version; none where there was too little to learn from."""
    enhancer = next((v.enhancer for v in study.versions if v.name == TRAINED_VERSION), None)
    panels = learning_panels(getattr(enhancer, "log_", []))
    if enhancer is None or not panels:
        return []
    held_back = ", ".join(f"{name} {score:.3f}" for name, score in enhancer.scores_.items())
    kept = "" if enhancer.trained_ else ": training did not help there, and the label-free form is kept"
    text = (
        "A metric is learned with each fold of the identities held back, at two temperatures t, and where that helps "
        f"from all of them; losses are means of 10 steps. mAP on the held-back identities: {held_back}{kept}."
    )
    return [_chart(study, "curves", "How it learned", text, panels)]


def _similarities(study: EnhanceStudy) -> Chart:
    panels = []
    for version in study.versions:
        edges = np.linspace(version.similarities.min(), version.similarities.max() + 1e-6, 61)
        panels.append(
            Histogram(
                title=f"{_title(version)}, mAP {version.map:.1f}",
                xlabel="cosine of two neighbours",
                edges=tuple(edges.tolist()),
                counts={
                    SAME: counted_between(edges, version.similarities[study.same_class]),
                    DIFFERENT: counted_between(edges, version.similarities[~study.same_class]),
                },
                mark=float(GCut().fit(version.features).threshold_),
                mark_label="G-cut, without labels",
                log_y=True,
            )
        )
    return _chart(study, "similarities", "Similarities", PAIRS_TEXT, panels)


def _sizes(study: EnhanceStudy, found: Sequence[Clustered]) -> Chart:
    classes = sizes_of(study.labels)
    sizes = [sizes_of(clustered.clusters) for clustered in found]
    edges = doubling_edges(max(some.max(initial=1) for some in (classes, *sizes)))
    panels = [
        Histogram(
            title=f"{_title(clustered.version)} + Kin",
            xlabel="items",
            edges=tuple(edges.tolist()),
            counts={"classes": counted_between(edges, classes), "clusters": counted_between(edges, some)},
            log_x=True,
        )
        for clustered, some in zip(found, sizes, strict=True)
    ]
    return _chart(study, "sizes", "Cluster sizes", SIZES_TEXT, panels)


def doubling_edges(largest: int) -> NDArray[np.float64]:
    """Return edges between sizes 1, 2, 3 to 4, 5 to 8, ... up to the largest.

    >>> doubling_edges(5).tolist()
    [0.5, 1.5, 2.5, 4.5, 8.5]
    """
    return np.append(0.5, 2.0 ** np.arange(int(largest - 1).bit_length() + 1) + 0.5)


def counted_between(edges: NDArray[np.float64], values: NDArray[np.number]) -> tuple[float, ...]:
    """Return how many values lie between each two edges, the last one included.

    >>> counted_between(np.array([0.5, 1.5, 2.5]), np.array([1, 1, 2]))
    (2.0, 1.0)
    """
    return _numbers(np.histogram(values, bins=edges)[0])


def _map(study: EnhanceStudy, data: Data, seed: int) -> Chart:
    graph = knn_graph(data.test, min(PAIRS_K, len(data.test) - 1), show_progress=False)
    shown = rows_to_map(study.labels, most_confused(graph, labels_of(data.test), MAP_CLASSES), seed)
    labels = tuple(study.labels[shown].tolist())
    panels = [
        Map(
            title=f"{_title(version)}, mAP {version.map:.1f}",
            x=_numbers(points[:, 0]),
            y=_numbers(points[:, 1]),
            labels=labels,
        )
        for version, points in zip(study.versions, planes([v.features[shown] for v in study.versions]), strict=True)
    ]
    return _chart(study, "map", "Map", MAP_TEXT, panels)


def rows_to_map(labels: NDArray[np.int64], classes: NDArray[np.int64], seed: int = 0) -> NDArray[np.int64]:
    """Return the rows of some classes, in rising order: up to 600, drawn with the seed.

    >>> rows_to_map(np.array([0, 1, 2, 1]), np.array([1, 2]))
    array([1, 2, 3])
    """
    rows = np.flatnonzero(np.isin(labels, classes))
    return np.sort(np.random.default_rng(seed).permutation(rows)[:MAP_ROWS])


def _chart(study: EnhanceStudy, what: str, title: str, text: str, panels: Sequence[Histogram | Map | Lines]) -> Chart:
    file = re.sub(r"[^a-z0-9]+", "-", study.name.lower()).strip("-")
    # the prefix is that of kinfolk 0.1: charts of older runs are replaced by name, and so are images of the docs
    return Chart(name=f"look-{what}-{file}", title=f"{title}: {study.name}", text=text, panels=tuple(panels))


def _numbers(values: NDArray[np.number]) -> tuple[float, ...]:
    return tuple(np.round(values, 5).astype(np.float64).tolist())
