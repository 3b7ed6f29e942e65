"""The report of a run of kinfolk reproduce: every result, what the paper claims, and how it was made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kinfolk._core.progress import progress
from kinfolk._core.version import __version__
from kinfolk.experiments.results import Chart, Claim, ExperimentResult, Table
from kinfolk.report.case import case_section
from kinfolk.report.charts import chart_svg
from kinfolk.report.checks import refuse_misfits
from kinfolk.report.page import Card, Chapter, ClaimRow, Page, PageClaims, PageFigure, PageTable, Section

MAKER = "kinfolk report"
# as they follow each other in the paper
ORDER = (
    "table1 figure3 table2 figure4 table3 table4 table5 figure5 table6 table7 table8 figure6 table9 figure7 table10 "
    "table11 figure8 theorem closeup"
).split()
# verdict: (tone of its card, text below its number)
CARDS = {
    "holds": ("good", "claims that hold"),
    "does not hold": ("bad", "claims that do not hold"),
    "undecided": ("open", "claims undecided"),
}
CLAIMS_TEXT = (
    "Sentences of the paper, and what was measured about each here. A claim holds where the 95 % interval of its "
    "difference lies above zero, does not hold where it lies below, and is undecided where it holds zero or there "
    "is none. Of many claims a few are decided by chance."
)
QUICK = "{} quick: small sets and one seed, to see that everything works. These numbers are for orientation only."


def in_paper_order(results: Iterable[ExperimentResult]) -> list[ExperimentResult]:
    """Return the results as they follow each other in the paper; those it does not have come last.

    >>> names = ("table10", "mine", "table2", "figure3")
    >>> [one.name for one in in_paper_order(ExperimentResult(name=name, title="", about="") for name in names)]
    ['figure3', 'table2', 'table10', 'mine']
    """
    places = {name: place for place, name in enumerate(ORDER)}
    return sorted(results, key=lambda one: (places.get(one.name, len(ORDER)), one.name))


def run_page(results: Iterable[ExperimentResult], show_progress: bool = False) -> Page:
    """Return the page of a run; about a second for each chart.

    >>> page = run_page([ExperimentResult(name="table2", title="Table 2: mAP", about="", seconds=75)])
    >>> page.lead
    '1 table, measured on no data set with 1 seed.'
    >>> page.facts["measured in"]
    '1 min 15 s'
    """
    ordered = in_paper_order(results)
    for result in ordered:
        refuse_misfits(result)
    claims = PageClaims("", [_claim_row(claim, one) for one in ordered for claim in one.claims], claim_counts(ordered))
    chapters = []
    with progress("drawing", len(ordered), show=show_progress) as advance:
        for result in ordered:
            chapters.append(_chapter(result))
            advance(text=f"drew {result.name}")
    chapters.append(Chapter("made", "How it was made", [_made_table(ordered)]))
    if claims.rows:
        chapters.insert(0, Chapter("claims", "What the paper claims", [claims], CLAIMS_TEXT, "Claims"))
    return Page(
        "kinfolk: the paper, measured again",
        _lead(ordered),
        _cards(claims.counts) if claims.rows else [],
        [],
        f"kinfolk {__version__}",
        _facts(ordered),
        chapters,
        MAKER,
        _warning(ordered),
    )


def claim_counts(results: Iterable[ExperimentResult]) -> dict[str, int]:
    """Return how many claims have each verdict.

    >>> claim_counts([])
    {'holds': 0, 'does not hold': 0, 'undecided': 0}
    """
    counts = Counter[str](claim.verdict for result in results for claim in result.claims)
    return {verdict: counts[verdict] for verdict in CARDS}


def page_table(table: Table, title: str) -> PageTable:
    """Return a table of a result as one of a page: stars become best cells, the paper's columns are set apart.

    >>> page_table(Table(data="x", head=("", "mAP", "mAP, the paper"), rows=(("a", "**1**", "2"),)), "x").best
    frozenset({(0, 1)})
    """
    cells = [(r, c, text) for r, row in enumerate(table.rows) for c, text in enumerate(row)]
    return PageTable(
        title,
        table.head,
        [[text.strip("*") if is_best(text) else text for text in row] for row in table.rows],
        best=frozenset((r, c) for r, c, text in cells if is_best(text)),
        rules=frozenset(table.rules),
        apart=frozenset(c for c, text in enumerate(table.head) if "paper" in text),
        note=table.made,
    )


def is_best(cell: str) -> bool:
    """Return whether a cell is in stars.

    >>> is_best("**81.0 ± 1.0**"), is_best("****"), is_best("2 ** 3")
    (True, False, False)
    """
    return len(cell) > 4 and cell.startswith("**") and cell.endswith("**")


def duration(seconds: float) -> str:
    """Return a time for a person.

    >>> duration(0.5), duration(59.6), duration(8040), duration(3600)
    ('0.5 s', '1 min 0 s', '2 h 14 min', '1 h 0 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


def data_sets(results: Iterable[ExperimentResult]) -> list[str]:
    """Return the names of all sets, as they first appear."""
    names: list[str] = []
    for one in results:
        names += [table.data for table in one.tables]
        names += [claim.data for claim in one.claims]
        names += [case.data for case in one.cases]
    return list(dict.fromkeys(names))


def _chapter(result: ExperimentResult) -> Chapter:
    sections: list[Section] = [page_table(table, table.data) for table in result.tables]
    sections += map(_figure, result.charts)
    sections += [case_section(case) for case in result.cases]
    verdicts = claim_counts([result])
    return Chapter(result.name, result.title, sections, result.about, result.title.split(":")[0], verdicts)


def _figure(chart: Chart) -> PageFigure:
    narrow = chart_svg(chart, columns=1) if len(chart.panels) > 1 else ""
    return PageFigure(chart.title, chart_svg(chart), chart.text, narrow, themed=True)


def _claim_row(claim: Claim, result: ExperimentResult) -> ClaimRow:
    return ClaimRow(claim.claim, claim.where, claim.data, claim.verdict, claim.figures, result.name)


def _cards(counts: Mapping[str, int]) -> list[Card]:
    return [Card(str(counts[verdict]), label, tone=tone) for verdict, (tone, label) in CARDS.items()]


def _lead(results: Sequence[ExperimentResult]) -> str:
    kinds = Counter(_kind(result.name) for result in results)
    parts = [_count(kinds[kind], kind) for kind in ("table", "figure", "study") if kinds[kind]]
    sets = len(data_sets(results))
    measured_on = _count(sets, "data set") if sets else "no data set"
    return f"{_listed(parts)}, measured on {measured_on} with {_seeds(results)}."


def _warning(results: Sequence[ExperimentResult]) -> str:
    quick = [result.title.split(":")[0] for result in results if result.quick]
    if not quick:
        return ""
    return QUICK.format("This run is" if len(quick) == len(results) else f"{_listed(quick)}: measured")


def _kind(name: str) -> str:
    return next((kind for kind in ("table", "figure") if name.startswith(kind)), "study")


def _count(number: int, noun: str) -> str:
    """Return a number and its noun.

    >>> _count(1, "study"), _count(2, "study"), _count(3, "table")
    ('1 study', '2 studies', '3 tables')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _seeds(results: Iterable[ExperimentResult]) -> str:
    numbers = sorted({result.seeds for result in results})
    return _count(numbers[0], "seed") if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} seeds"


def _facts(results: Sequence[ExperimentResult]) -> dict[str, str]:
    quick = {result.quick for result in results}
    made = " ".join(table.made for result in results for table in result.tables)
    versions = sorted({item for result in results for item in result.versions.items()})
    facts = {
        "data": ", ".join(data_sets(results)),
        "size": "quick and larger" if len(quick) > 1 else "quick" if True in quick else "usual or full",
        "cells": f"{sum(result.cells for result in results):,}",
        "measured in": duration(sum(result.seconds for result in results)),
        "commits": ", ".join(dict.fromkeys(re.findall(r"commit ([\w-]+)", made))),
        "versions": ", ".join(f"{name} {version}" for name, version in versions),
    }
    return {name: text for name, text in facts.items() if text}


def _made_table(results: Sequence[ExperimentResult]) -> PageTable:
    rows = [
        (
            result.title,
            str(result.seeds),
            "quick" if result.quick else "usual or full",
            f"{result.cells:,}" if result.cells else "–",
            f"{result.seconds:,.0f}",
            " ".join(dict.fromkeys(table.made for table in result.tables if table.made)) or "–",
        )
        for result in results
    ]
    return PageTable("", ("", "seeds", "size", "cells", "seconds", "by"), rows)
