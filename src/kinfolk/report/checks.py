"""Results whose parts do not fit together are refused before anything is drawn from them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kinfolk._core.errors import InputError
from kinfolk.experiments.results import CaseStudy, ExperimentResult, Histogram, Lines, Panel, Table


def refuse_misfits(result: ExperimentResult) -> None:
    """Raise an error that names the first part which does not fit.

    >>> table = Table(data="x", head=("a",), rows=[()])
    >>> refuse_misfits(ExperimentResult(name="table2", title="", about="", tables=[table]))
    Traceback (most recent call last):
    kinfolk.InputError: table2 is damaged: a row of the table of x has 0 cells, not 1; run kinfolk ...
    """
    for sentence in _misfits(result):
        raise InputError(f"{result.name} is damaged: {sentence}; run kinfolk reproduce again")


def _misfits(result: ExperimentResult) -> Iterator[str]:
    for table in result.tables:
        yield from _table_misfits(table)
    for chart in result.charts:
        if not chart.panels:
            yield f"the chart {chart.name} has no panels"
        for panel in chart.panels:
            if not _fits(panel):
                yield f"the lengths in panel {panel.title!r} of the chart {chart.name} differ"
    for case in result.cases:
        yield from _case_misfits(case)


def _table_misfits(table: Table) -> Iterator[str]:
    for row in table.rows:
        if len(row) != len(table.head):
            yield f"a row of the table of {table.data} has {len(row)} cells, not {len(table.head)}"


def _fits(panel: Panel) -> bool:
    if isinstance(panel, Lines):
        return all(len(line.x) == len(line.y) == len(line.spread or line.y) for line in panel.lines)
    if isinstance(panel, Histogram):
        return all(len(counts) == len(panel.edges) - 1 for counts in panel.counts.values())
    return len(panel.x) == len(panel.y) == len(panel.labels)


def _case_misfits(case: CaseStudy) -> Iterator[str]:
    count = len(case.nodes)
    if count == 0 or len(case.labels) != count:
        yield f"the case study of {case.data} has {count} nodes and {len(case.labels)} labels"
    for name, matrix in {"similarities": case.similarities, **case.weights}.items():
        if len(matrix) != count or any(len(row) != count for row in matrix):
            yield f"{name} in the case study of {case.data} is not {count} x {count}"
        if not all(map(math.isfinite, (value for row in matrix for value in row))):
            yield f"{name} in the case study of {case.data} has a value that is no number"
