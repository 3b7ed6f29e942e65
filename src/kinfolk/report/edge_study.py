"""The part of the report that shows one test against many."""

from __future__ import annotations

from collections.abc import Sequence

from kinfolk.experiments.edge_study import EdgeStudy
from kinfolk.report.figures import roc_curves, similarity_histograms, to_svg
from kinfolk.report.page import Card, PageFigure, PageTable

HISTOGRAM_TEXT = "The less the two hills overlap, the better an edge between classes is distinguished from a true one."
ROC_TEXT = "For each share of noisy edges let through, the share of true edges kept: higher and further left is better."


def edge_card(study: EdgeStudy) -> Card:
    """Return the card of a study: the noisy edges that one test and that many tests let through."""
    value = f"{study.one_test.noise_let_through:.1%} → {study.many_tests.noise_let_through:.1%}"
    return Card(
        value, f"noisy edges let through, {study.name}", f"one test → many tests, k={study.k}, 95% of true edges kept"
    )


def edge_sections(studies: Sequence[EdgeStudy]) -> list[PageTable | PageFigure]:
    """Return a table for each study, its score distributions, and the ROC curves of all."""
    curves = {f"{s.name}, k={s.k}": {x.name: x.curve for x in (s.one_test, s.many_tests)} for s in studies}
    return [
        *[_table(study) for study in studies],
        *[_histograms(study) for study in studies],
        PageFigure("Which edges are true?", to_svg(roc_curves(curves)), ROC_TEXT),
    ]


def _table(study: EdgeStudy) -> PageTable:
    columns = ("neighbours k", "noisy edges (ENR)", "AUC Sim-S × 100", "AUC Sim-M × 100", "difference")
    rows = [
        (str(r.k), f"{r.enr:.1%}", f"{r.auc_s:.2f}", f"{r.auc_m:.2f}", f"{r.auc_m - r.auc_s:+.2f}")
        for r in study.over_k
    ]
    best = frozenset((i, 3 if r.auc_m > r.auc_s else 2) for i, r in enumerate(study.over_k))
    n, d = study.features.features.shape
    text = f"{study.origin[:1].upper()}{study.origin[1:]}; {n:,} vectors of {d} dimensions. {study.sentence}"
    return PageTable(f"Edges, {study.name}", columns, rows, text, best)


def _histograms(study: EdgeStudy) -> PageFigure:
    titled = {f"{x.name}, k={study.k}": (x.scores, study.same_class) for x in (study.one_test, study.many_tests)}
    return PageFigure(f"Scores of the edges, {study.name}", to_svg(similarity_histograms(titled)), HISTOGRAM_TEXT)
