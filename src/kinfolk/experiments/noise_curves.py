"""Figure 3 of the paper: feature quality as the graph gets noisier, each form trained and tested at every k."""

from __future__ import annotations

from collections.abc import Sequence

from kinfolk.experiments.claims import (
    ClaimSource,
    SeededScore,
    SetScores,
    best,
    comparable,
    deviations,
    higher,
    sets_of,
)
from kinfolk.experiments.feature_methods import (
    GCN,
    GCN_BAND,
    GCN_SELF,
    ORIGINAL,
    PAPER_METHODS,
    PAPER_ROWS,
    TRANSFORMER,
    TRANSFORMER_BAND,
)
from kinfolk.experiments.feature_quality import Quality, at_k, measure_quality
from kinfolk.experiments.generated_sets import CELEBRITIES, Size
from kinfolk.experiments.results import Chart, Claim, Line, Lines, Table
from kinfolk.experiments.task_cells import ScoredCells, Study, TaskCell, needed_seeds

KS: dict[Size | None, tuple[int, ...]] = {
    "quick": (5, 20, 80),
    "usual": (5, 10, 20, 40, 80, 120, 160),
    "full": (5, 10, 20, 40, 80, 120, 160),
    None: (5, 10, 20, 40, 80),
}


def noise_cells(names: Sequence[str], seeds: Sequence[int], size: Size | None) -> list[TaskCell]:
    """Return every method at every k.

    >>> len(noise_cells(["celeb_like (generated)"], [0], "quick"))
    18
    """
    return [
        TaskCell(name, at_k(method, k), Quality(k), seed)
        for name in names
        for seed in seeds
        for k in KS[size]
        for method in PAPER_ROWS
        if seed in needed_seeds(size is not None, method, False, seeds)
    ]


def noise_tables(found: ScoredCells) -> list[Table]:
    """Return mAP at every k, a row for each method, and what is lost from the smallest k to the largest."""
    tables = []
    for here in sets_of(found):
        ks = _ks(here)
        rows = []
        for method in PAPER_ROWS:
            scores = [_at(here, method.name, k) for k in ks]
            lost = _loss(here, method.name)
            change = "" if lost is None or method is ORIGINAL else (-lost).text(sign=True)
            rows.append((method.name, *("–" if e is None else e.text() for e in scores), change))
        heads = [f"k={k}, ENR {_enr(here, k):.2f}" for k in ks]
        tables.append(Table(data=here.data, head=("mAP", *heads, "first to last"), rows=tuple(rows)))
    return tables


def noise_charts(found: ScoredCells) -> list[Chart]:
    """Return mAP over the noise of the graph, a panel for each set."""
    panels = []
    for here in sets_of(found):
        lines = []
        for method in PAPER_ROWS:
            points = [(k, e) for k in _ks(here) if (e := _at(here, method.name, k)) is not None]
            lines.append(
                Line(
                    label=method.name,
                    x=tuple(_enr(here, k) for k, _ in points),
                    y=tuple(e.mean for _, e in points),
                    spread=deviations([e for _, e in points]),
                )
            )
        xlabel = "noisy edges (ENR), from a larger k"
        panels.append(Lines(title=here.data, xlabel=xlabel, ylabel="mAP × 100", lines=tuple(lines)))
    text = "The further right, the more of a node's neighbours are strangers. A form that is robust stays level."
    chart = Chart(name="figure3", title="mAP over the noise of the graph", text=text, panels=tuple(panels))
    return [chart] if panels else []


def noise_claims(found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about Figure 3."""
    claims: list[Claim] = []
    for here in sets_of(found):
        source = ClaimSource("Section 3.3, Figure 3", "mAP", here.data)
        ks = _ks(here)
        few, many = ks[0], ks[-1]
        without_band = (GCN, TRANSFORMER, GCN_SELF)
        for k in ks[1:]:
            band, rivals = _at(here, GCN_BAND, k), {name: _at(here, name, k) for name in without_band}
            claims += best(f"Band is above all forms without it at k = {k}", source, band, rivals)
        for name, form in (("GCN", GCN), ("self", GCN_SELF)):
            lost, of_band = _loss(here, form), _loss(here, GCN_BAND)
            claims += higher(f"As the noise grows band loses less than {name}", source, lost, of_band)
        at_many = {form.name: _at(here, form.name, many) for form in PAPER_METHODS}
        claims += higher("With the most noise self is above GCN", source, at_many[GCN_SELF], at_many[GCN])
        claims += higher("With the most noise Transformer is above GCN", source, at_many[TRANSFORMER], at_many[GCN])
        claims += higher("Even band loses where the noise is largest", source, *_middle_and_last(here))
        claims += comparable(
            "With few neighbours band and self are alike", source, _at(here, GCN_BAND, few), _at(here, GCN_SELF, few)
        )
        claims += comparable(
            "The base network matters little (band)", source, at_many[TRANSFORMER_BAND], at_many[GCN_BAND]
        )
        claims += comparable("The base network matters little (self)", source, at_many[TRANSFORMER], at_many[GCN_SELF])
    return claims


def _ks(here: SetScores) -> list[int]:
    tasks = [cell.task for cell, _ in here.found]
    return sorted({task.k for task in tasks if isinstance(task, Quality) and task.k is not None})


def _at(here: SetScores, row: str, k: int) -> SeededScore | None:
    return here.score("map", lambda cell: cell.row == row and _has_k(cell, k))


def _has_k(cell: TaskCell, k: int) -> bool:
    return isinstance(cell.task, Quality) and cell.task.k == k


def _enr(here: SetScores, k: int) -> float:
    noise = here.rows(lambda cell: _has_k(cell, k))
    return sum(row.scores["enr"] for row in noise) / len(noise)


def _loss(here: SetScores, row: str) -> SeededScore | None:
    """Return what is lost from the smallest k to the largest: both are fixed before anything is measured."""
    first, last = (_at(here, row, k) for k in (_ks(here)[0], _ks(here)[-1]))
    return None if first is None or last is None else first - last


def _middle_and_last(here: SetScores) -> tuple[SeededScore | None, SeededScore | None]:
    """Return band at the middle k and at the largest."""
    ks = _ks(here)
    return _at(here, GCN_BAND, ks[len(ks) // 2]), _at(here, GCN_BAND, ks[-1])


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
