"""The part of the report that shows features before and after enhancing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from kinfolk.experiments.enhance_study import LABEL_FREE_VERSION, RAW_VERSION, TRAINED_VERSION, EnhanceStudy, planes
from kinfolk.report.figures import before_and_after, to_svg
from kinfolk.report.page import Card, PageFigure, PageTable

TABLE_TEXT = (
    "GraphEnhancer replaces each vector by a mean over its kin, the neighbours that many tests agree on. Mean average "
    "precision × 100: how early each item finds the others of its class among all the others."
)
FIGURE_TEXT = (
    "Above, the classes that are confused most, in the plane of their two main axes (PCA); the numbers name the "
    "classes. Below, the cosines of all pairs that were neighbours before, spaced by their angle: the less the two "
    "hills overlap, the better."
)


def enhance_card(study: EnhanceStudy) -> Card:
    """Return the card of a study: mAP before and after.

    >>> from kinfolk.experiments.enhance_study import Version
    >>> versions = [Version(n, np.eye(2), 100 * s, np.eye(2)) for n, s in (("raw", 0.5), ("label-free", 0.75))]
    >>> enhance_card(EnhanceStudy("toy", "", np.zeros(2), np.eye(2) > 0, np.zeros(1), versions)).value
    '50.0 → 75.0'
    """
    scores = study.scores
    value = " → ".join(f"{score:.1f}" for score in scores.values())
    return Card(value, f"mAP × 100, {study.name}", " → ".join(scores))


def enhance_sections(studies: Sequence[EnhanceStudy]) -> list[PageTable | PageFigure]:
    """Return a table of all sets, and for each set a picture of its versions side by side."""
    return [_table(studies), *[_figure(study) for study in studies]]


def before_and_after_figure(study: EnhanceStudy) -> Figure:
    """Return the picture of a study: the classes that are confused most as a map, and the cosines of its pairs."""
    shown = np.flatnonzero(np.isin(study.labels, study.shown))
    titles = [f"{version.name}, mAP {version.map:.1f}" for version in study.versions]
    maps = dict(zip(titles, planes([version.features[shown] for version in study.versions]), strict=True))
    similarities = [version.similarities for version in study.versions]
    return before_and_after(maps, study.labels[shown], similarities, study.same_class)


def _table(studies: Sequence[EnhanceStudy]) -> PageTable:
    columns = ("data", "raw", "label-free", "gain", "trained", "gain")
    rows, best = [], set()
    for i, scores in enumerate(study.scores for study in studies):
        cells = [studies[i].name, f"{scores[RAW_VERSION]:.2f}"]
        for name in (LABEL_FREE_VERSION, TRAINED_VERSION):
            there = name in scores
            cells += [f"{scores[name]:.2f}", f"{scores[name] - scores[RAW_VERSION]:+.2f}"] if there else ["–", "–"]
        rows.append(cells)
        best.add((i, {RAW_VERSION: 1, LABEL_FREE_VERSION: 2, TRAINED_VERSION: 4}[max(scores, key=scores.__getitem__)]))
    notes = " ".join(f"{study.name}: {study.note}." for study in studies)
    return PageTable("Enhanced features", columns, rows, f"{TABLE_TEXT} {notes}", frozenset(best))


def _figure(study: EnhanceStudy) -> PageFigure:
    return PageFigure(f"Before and after, {study.name}", to_svg(before_and_after_figure(study)), FIGURE_TEXT)
