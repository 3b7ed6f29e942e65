"""Tables 6 and 7 and Figure 5 of the paper: the same models on test sets that grow, parts 1, 3, 5, 7 and 9."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from kinfolk.experiments.evidence import Evidence, Measurements, Where, higher, sets_of
from kinfolk.experiments.feature_quality import Quality, at_k, measure_quality, roc_panel
from kinfolk.experiments.forms import ORIGINAL, PAPER_FORMS
from kinfolk.experiments.markdown import spread
from kinfolk.experiments.outcome import Chart, Claim, Table
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.stands import CELEBRITIES, STANDS, Size, growing
from kinfolk.experiments.task_cells import Found, Study, TaskCell, needed_seeds

PARTS = (1, 3, 5, 7, 9)
METHODS = (ORIGINAL, *PAPER_FORMS)
GCN, _, GCN_SELF, _, GCN_BAND = (form.name for form in PAPER_FORMS)
COMPARED = (GCN, GCN_SELF, GCN_BAND)


def scale_cells(names: Sequence[str], seeds: Sequence[int], size: Size | None) -> list[TaskCell]:
    """Return every method at every scale; the scales of one method follow each other, for they share its training.

    >>> [cell.task.part for cell in scale_cells(["mine"], [0], None)][:6]
    [1, 3, 5, 7, 9, 1]
    """
    return [
        TaskCell(name, at_k(method, k), Quality(k, part), seed)
        for name in names
        for k in [None if size is None else STANDS[name].k[size]]
        for seed in seeds
        for method in METHODS
        if seed in needed_seeds(size is not None, method, False, seeds)
        for part in PARTS
    ]


def scale_tables(found: Found) -> list[Table]:
    """Return Table 6: mAP at every scale beside the paper's, and how much is lost from part 1 to part 9."""
    paper = {row["method"]: row for row in paper_table("table6")}
    tables = []
    for here in sets_of(found):
        head = ("mAP", *(f"part {p}, {_rows(here, p):,} rows" for p in PARTS), "1 to 9")
        head += tuple(f"part {p}, the paper" for p in PARTS)
        rows = []
        for method in METHODS:
            scores = [_at(here, method.name, part, "map") for part in PARTS]
            shown = [spread(None if e is None else e.values.tolist()) for e in scores]
            lost = _lost(here, method.name, "map")
            loss = "–" if lost is None else spread((-lost.values).tolist(), sign=True)
            rows.append((method.name, *shown, loss, *(paper[method.name][f"part{p}"] for p in PARTS)))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows)))
    return tables


def auc_tables(found: Found) -> list[Table]:
    """Return Table 7: how much AUC x 100 falls between adjacent scales, beside the paper's."""
    paper = {row["parts"]: row for row in paper_table("table7")}
    tables = []
    for here in sets_of(found):
        pairs = [*pairwise(PARTS), (PARTS[0], PARTS[-1])]
        rows = []
        for first, last in pairs:
            name = "summation" if (first, last) == pairs[-1] else f"part{first} - part{last}"
            falls = [_fall(here, method, first, last, "auc") for method in COMPARED]
            shown = ["–" if fall is None else f"{fall.mean:.2f}" for fall in falls]
            rows.append((name, *shown, *(paper[name][method] for method in COMPARED)))
        head = ("fall of AUC", *COMPARED, *(f"{method}, the paper" for method in COMPARED))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows), rules=(len(rows) - 1,)))
    return tables


def scale_charts(found: Found) -> list[Chart]:
    """Return Figure 5: for each of three methods the ROC curves of all scales."""
    charts = []
    for number, here in enumerate(sets_of(found)):
        own = [(cell, row) for cell, row in found if cell.data == here.data]
        panels = tuple(
            roc_panel(f"{method}, {here.data}", own, {f"part {p}": partial(_is, method, p) for p in PARTS})
            for method in COMPARED
        )
        text = "A larger test set has more look-alikes. The closer the curves of a panel, the less its form minds."
        name = "figure5" if number == 0 else f"figure5-{number + 1}"
        charts.append(Chart(name=name, title=f"ROC curves as the set grows, {here.data}", text=text, panels=panels))
    return charts


def scale_claims(score: str, unit: str, where: str, found: Found) -> list[Claim]:
    """Return what the paper says about growing sets, by mAP (Table 6) or AUC (Table 7)."""
    claims: list[Claim] = []
    place = Where(where, score, unit)
    for here in sets_of(found):
        lost = {method: _lost(here, method, score) for method in COMPARED}
        claims += higher(
            f"Band's {unit} falls less than GCN's as the set grows", place, here.data, lost[GCN], lost[GCN_BAND]
        )
        claims += higher(
            f"Band's {unit} falls less than self's as the set grows", place, here.data, lost[GCN_SELF], lost[GCN_BAND]
        )
        if score == "map":
            last = {method: _at(here, method, PARTS[-1], score) for method in COMPARED}
            claims += higher("Band is better than self in part 9", place, here.data, last[GCN_BAND], last[GCN_SELF])
            claims += higher("Self is better than GCN in part 9", place, here.data, last[GCN_SELF], last[GCN])
    return claims


def _is(row: str, part: int, cell: TaskCell) -> bool:
    return cell.row == row and isinstance(cell.task, Quality) and cell.task.part == part


def _at(here: Measurements, row: str, part: int, score: str) -> Evidence | None:
    return here.evidence(score, partial(_is, row, part))


def _fall(here: Measurements, row: str, first: int, last: int, score: str) -> Evidence | None:
    before, after = (_at(here, row, part, score) for part in (first, last))
    if before is None or after is None:
        return None
    # the scales have other identities: what is drawn in one says nothing about the other
    return Evidence(before.values) - Evidence(after.values)


def _lost(here: Measurements, row: str, score: str) -> Evidence | None:
    return _fall(here, row, PARTS[0], PARTS[-1], score)


def _rows(here: Measurements, part: int) -> int:
    rows = here.rows(partial(_is, ORIGINAL.name, part))
    return int(rows[0].chosen["rows"]) if rows else 0


STUDIES = {
    "figure5": Study(
        "Figure 5: ROC curves as the test set grows",
        "The features of Table 6, asked whether two neighbours are of one class.",
        (CELEBRITIES,),
        scale_cells,
        measure_quality,
        charts=scale_charts,
        make=growing,
    ),
    "table6": Study(
        "Table 6: feature quality as the test set grows",
        "Trained once; tested on parts 1, 3, 5, 7 and 9, that many ninths of the identities, each with the one before.",
        (CELEBRITIES,),
        scale_cells,
        measure_quality,
        scale_tables,
        claims=partial(scale_claims, "map", "mAP", "Appendix A.3, Table 6"),
        make=growing,
    ),
    "table7": Study(
        "Table 7: how AUC falls as the test set grows",
        "AUC × 100 of one scale minus that of the next larger one.",
        (CELEBRITIES,),
        scale_cells,
        measure_quality,
        auc_tables,
        claims=partial(scale_claims, "auc", "AUC", "Appendix A.3, Table 7"),
        make=growing,
    ),
}
