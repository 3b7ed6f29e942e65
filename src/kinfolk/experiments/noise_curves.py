"""Figure 3 of the paper: feature quality as the graph gets noisier, each form trained and tested at every k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.experiments.evidence import Evidence, Measurements, Where, best_of, both, higher, sets_of
from kinfolk.experiments.feature_quality import Quality, at_k, measure_quality
from kinfolk.experiments.forms import ORIGINAL, PAPER_FORMS
from kinfolk.experiments.markdown import spread
from kinfolk.experiments.outcome import Chart, Claim, Line, Lines, Table
from kinfolk.experiments.stands import CELEBRITIES, STANDS, Size
from kinfolk.experiments.task_cells import Found, Study, TaskCell, needed_seeds

METHODS = (ORIGINAL, *PAPER_FORMS)
GIVEN_KS = (5, 10, 20, 40, 80)
GCN, TRANSFORMER, GCN_SELF, TRANSFORMER_BAND, GCN_BAND = (form.name for form in PAPER_FORMS)
WHERE = Where("Section 3.3, Figure 3", "map", "mAP")


def noise_cells(names: Sequence[str], seeds: Sequence[int], size: Size | None) -> list[TaskCell]:
    """Return every method at every k.

    >>> len(noise_cells(["celeb_like (generated)"], [0], "quick"))
    18
    """
    return [
        TaskCell(name, at_k(method, k), Quality(k), seed)
        for name in names
        for seed in seeds
        for k in (GIVEN_KS if size is None else STANDS[name].ks[size])
        for method in METHODS
        if seed in needed_seeds(size is not None, method, False, seeds)
    ]


def noise_tables(found: Found) -> list[Table]:
    """Return mAP at every k, a row for each method, and what is lost from the best k to the largest."""
    tables = []
    for here in sets_of(found):
        ks = _ks(here)
        heads = [f"k={k}, ENR {_enr(here, k):.2f}" for k in ks]
        rows = []
        for method in METHODS:
            scores = {k: _at(here, method.name, k) for k in ks}
            shown = [spread(None if e is None else e.values.tolist()) for e in scores.values()]
            loss = _loss(here, method.name)
            lost = "" if loss is None or method is ORIGINAL else spread((-loss.values).tolist(), sign=True)
            rows.append((method.name, *shown, lost))
        tables.append(Table(data=here.data, head=("mAP", *heads, "best to last"), rows=tuple(rows)))
    return tables


def noise_charts(found: Found) -> list[Chart]:
    """Return mAP over the noise of the graph, a panel for each set."""
    panels = []
    for here in sets_of(found):
        ks = _ks(here)
        lines = []
        for method in METHODS:
            points = [(k, e) for k in ks if (e := _at(here, method.name, k)) is not None]
            lines.append(
                Line(
                    label=method.name,
                    x=tuple(_enr(here, k) for k, _ in points),
                    y=tuple(e.mean for _, e in points),
                    spread=tuple(float(e.values.std(ddof=1)) if len(e.values) > 1 else 0.0 for _, e in points),
                )
            )
        xlabel = "noisy edges (ENR), from a larger k"
        panels.append(Lines(title=here.data, xlabel=xlabel, ylabel="mAP × 100", lines=tuple(lines)))
    text = "The further right, the more of a node's neighbours are strangers. A form that is robust stays level."
    return [Chart(name="figure3", title="mAP over the noise of the graph", text=text, panels=tuple(panels))]


def noise_claims(found: Found) -> list[Claim]:
    """Return what the paper says about Figure 3."""
    claims: list[Claim] = []
    for here in sets_of(found):
        ks = _ks(here)
        if len(ks) < 2:
            continue
        middle = ks[len(ks) // 2 :]
        for k in middle:
            band, others = _at(here, GCN_BAND, k), [_at(here, name, k) for name in (GCN, GCN_SELF, TRANSFORMER)]
            rivals = [e for e in others if e is not None]
            if rivals:
                claims += higher(
                    f"Band is best at ENR {_enr(here, k):.2f} (k = {k})", WHERE, here.data, band, best_of(rivals)
                )
        losses = {name: _loss(here, name) for name in (GCN, GCN_SELF, GCN_BAND)}
        claims += higher("Band loses less than GCN as the noise grows", WHERE, here.data, losses[GCN], losses[GCN_BAND])
        claims += higher(
            "Band loses less than self as the noise grows", WHERE, here.data, losses[GCN_SELF], losses[GCN_BAND]
        )
        claims += higher(
            "At the largest k GCN is worse than self",
            WHERE,
            here.data,
            _at(here, GCN_SELF, ks[-1]),
            _at(here, GCN, ks[-1]),
        )
        claims += higher(
            "With few neighbours band gains less over self than with many",
            WHERE,
            here.data,
            _minus(_at(here, GCN_BAND, ks[-1]), _at(here, GCN_SELF, ks[-1])),
            _minus(_at(here, GCN_BAND, ks[0]), _at(here, GCN_SELF, ks[0])),
        )
        claims += higher(
            "The attention matters more than the base network (at the largest k)",
            WHERE,
            here.data,
            _gap(_at(here, GCN_BAND, ks[-1]), _at(here, GCN_SELF, ks[-1])),
            _gap(_at(here, GCN_BAND, ks[-1]), _at(here, TRANSFORMER_BAND, ks[-1])),
        )
    return claims


def _ks(here: Measurements) -> list[int]:
    tasks = [cell.task for cell, _ in here.found if cell.data == here.data]
    return sorted({task.k for task in tasks if isinstance(task, Quality) and task.k is not None})


def _at(here: Measurements, row: str, k: int, score: str = "map") -> Evidence | None:
    return here.evidence(score, lambda cell: cell.row == row and isinstance(cell.task, Quality) and cell.task.k == k)


def _enr(here: Measurements, k: int) -> float:
    noise = _at(here, ORIGINAL.name, k, "enr")
    return float("nan") if noise is None else noise.mean


def _loss(here: Measurements, row: str) -> Evidence | None:
    """Return what is lost from the best k to the largest."""
    scores = [_at(here, row, k) for k in _ks(here)]
    measured = [e for e in scores if e is not None]
    return best_of(measured) - measured[-1] if len(measured) == len(scores) else None


def _minus(first: Evidence | None, second: Evidence | None) -> Evidence | None:
    return None if first is None or second is None else first - second


def _gap(first: Evidence | None, second: Evidence | None) -> Evidence | None:
    if first is None or second is None:
        return None
    return both(lambda one, two: np.abs(one - two), first, second)


STUDY = Study(
    "Figure 3: feature quality over the noise of the graph",
    "Each form is trained and tested at every k; a larger k brings more strangers into the neighbourhoods.",
    (CELEBRITIES,),
    noise_cells,
    measure_quality,
    noise_tables,
    noise_charts,
    noise_claims,
)
