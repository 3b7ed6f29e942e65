"""Tables 6 and 7 and Figure 5 of the paper: the same models on test sets that grow, parts 1, 3, 5, 7 and 9."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from kinfolk.experiments.claims import ClaimSource, SeededScore, SetScores, best, higher, sets_of
from kinfolk.experiments.feature_methods import GCN, GCN_BAND, GCN_SELF, ORIGINAL, PAPER_ROWS
from kinfolk.experiments.feature_quality import Quality, measure_quality, quality_cells, roc_panel, roc_table
from kinfolk.experiments.generated_sets import CELEBRITIES, growing_set
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.results import Chart, Claim, Table
from kinfolk.experiments.task_cells import ScoredCells, Study, TaskCell

TEST_PARTS = (1, 3, 5, 7, 9)
COMPARED = (GCN, GCN_SELF, GCN_BAND)
# the parts of a method follow each other, so that it is trained once
SCALE_CELLS = partial(quality_cells, PAPER_ROWS, parts=TEST_PARTS)


def scale_tables(found: ScoredCells) -> list[Table]:
    """Return Table 6: mAP at every scale beside the paper's, and how much is lost from part 1 to part 9."""
    paper = {row["method"]: row for row in paper_table("table6")}
    tables = []
    for here in sets_of(found):
        head = ("mAP", *(f"part {p}, {_rows(here, p):,} rows" for p in TEST_PARTS), "1 to 9")
        head += tuple(f"part {p}, the paper" for p in TEST_PARTS)
        rows = []
        for method in PAPER_ROWS:
            scores = [_at(here, method.name, part, "map") for part in TEST_PARTS]
            lost = _lost(here, method.name, "map")
            shown = ["–" if e is None else e.text() for e in scores]
            change = "–" if lost is None else (-lost).text(sign=True)
            rows.append((method.name, *shown, change, *(paper[method.name][f"part{p}"] for p in TEST_PARTS)))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows)))
    return tables


def auc_tables(found: ScoredCells) -> list[Table]:
    """Return Table 7: how much AUC x 100 falls between adjacent scales, beside the paper's."""
    paper = {row["parts"]: row for row in paper_table("table7")}
    tables = []
    for here in sets_of(found):
        pairs = [*pairwise(TEST_PARTS), (TEST_PARTS[0], TEST_PARTS[-1])]
        rows = []
        for first, last in pairs:
            name = "summation" if (first, last) == pairs[-1] else f"part{first} - part{last}"
            falls = [_fall(here, method, first, last, "auc") for method in COMPARED]
            shown = ["–" if fall is None else fall.text(digits=2) for fall in falls]
            rows.append((name, *shown, *(paper[name][method] for method in COMPARED)))
        head = ("fall of AUC", *COMPARED, *(f"{method}, the paper" for method in COMPARED))
        tables.append(Table(data=here.data, head=head, rows=tuple(rows), rules=(len(rows) - 1,)))
    return tables


def scale_curves(method: str) -> dict[str, Callable[[TaskCell], bool]]:
    """Return the ROC curves of a method in Figure 5: one for each scale."""
    return {f"part {part}": partial(_is, method, part) for part in TEST_PARTS}


def scale_charts(found: ScoredCells) -> list[Chart]:
    """Return Figure 5: for each set and each of three methods the ROC curves of all scales."""
    panels = [
        roc_panel(f"{method}, {here.data}", here, scale_curves(method))
        for here in sets_of(found)
        for method in COMPARED
    ]
    text = "A larger test set has more look-alikes. The closer the curves of a panel, the less the method loses."
    chart = Chart(name="figure5", title="ROC curves as the set grows", text=text, panels=tuple(panels))
    return [chart] if panels else []


def curve_tables(found: ScoredCells) -> list[Table]:
    """Return the curves of Figure 5 in numbers."""
    curves = {f"{method}, {part}": wanted for method in COMPARED for part, wanted in scale_curves(method).items()}
    return [roc_table(here, curves) for here in sets_of(found)]


def scale_claims(score: str, unit: str, where: str, found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about growing sets, by mAP (Table 6) or AUC (Table 7)."""
    claims: list[Claim] = []
    for here in sets_of(found):
        source = ClaimSource(where, unit, here.data)
        lost = {method.name: _lost(here, method.name, score) for method in PAPER_ROWS}
        for method in (GCN, GCN_SELF):
            text = f"As the set grows band's {unit} falls less than that of {method}"
            claims += higher(text, source, lost[method], lost[GCN_BAND])
        if score == "auc":
            continue
        claims += higher(
            "As the set grows self falls less than the given features", source, lost[ORIGINAL.name], lost[GCN_SELF]
        )
        for part in TEST_PARTS:
            at = {method.name: _at(here, method.name, part, score) for method in PAPER_ROWS}
            band = at.pop(GCN_BAND)
            claims += best(f"GCN with band is best in part {part}", source, band, at)
        claims += higher("Self is better than GCN in part 9", source, at[GCN_SELF], at[GCN])
    return claims


def _is(row: str, part: int, cell: TaskCell) -> bool:
    return cell.row == row and isinstance(cell.task, Quality) and cell.task.part == part


def _at(here: SetScores, row: str, part: int, score: str) -> SeededScore | None:
    return here.score(score, partial(_is, row, part))


def _fall(here: SetScores, row: str, first: int, last: int, score: str) -> SeededScore | None:
    before, after = (_at(here, row, part, score) for part in (first, last))
    if before is None or after is None:
        return None
    # parts share identities but are resampled independently: the interval is conservative
    return before - after


def _lost(here: SetScores, row: str, score: str) -> SeededScore | None:
    return _fall(here, row, TEST_PARTS[0], TEST_PARTS[-1], score)


def _rows(here: SetScores, part: int) -> int:
    rows = here.rows(partial(_is, ORIGINAL.name, part))
    return int(rows[0].chosen["rows"]) if rows else 0


STUDIES = {
    "figure5": Study(
        "Figure 5: ROC curves as the test set grows",
        "The features of Table 6: does their cosine separate neighbours of one class from others?",
        (CELEBRITIES,),
        SCALE_CELLS,
        measure_quality,
        curve_tables,
        scale_charts,
        make=growing_set,
    ),
    "table6": Study(
        "Table 6: feature quality as the test set grows",
        "Trained once; tested on parts 1, 3, 5, 7 and 9, that many ninths of the identities, each with the one before.",
        (CELEBRITIES,),
        SCALE_CELLS,
        measure_quality,
        scale_tables,
        claims=partial(scale_claims, "map", "mAP", "Appendix A.3, Table 6"),
        make=growing_set,
    ),
    "table7": Study(
        "Table 7: how AUC falls as the test set grows",
        "AUC × 100 of one scale minus that of the next larger one.",
        (CELEBRITIES,),
        SCALE_CELLS,
        measure_quality,
        auc_tables,
        claims=partial(scale_claims, "auc", "AUC", "Appendix A.3, Table 7"),
        make=growing_set,
    ),
}
