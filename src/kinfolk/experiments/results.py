"""The result of an experiment as data: tables, charts, claims and case studies, one JSON file in the folder of a run.

`kinfolk reproduce` writes these files and `kinfolk report` reads them: nothing is measured to draw a page.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field

from kinfolk._core.errors import InputError
from kinfolk._core.files import added, existing_folder, record, replacing
from kinfolk._core.manifest import MANIFEST
from kinfolk.experiments.markdown import markdown

RUN_KIND = "results"  # in the manifest of the folder
RESULT_FORMAT = 1  # of the files; a change that older programs cannot read counts up
FORMER_NAMES = {"closeup": "look"}  # name of an experiment: its name in runs of kinfolk 0.1, which are still read
Verdict = Literal["holds", "does not hold", "undecided"]
TableRow = tuple[str, ...]
Numbers = tuple[float, ...]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Table(_Data):
    """A table of one set, as texts: the best of a column is in **stars**; `rules`: before which rows a line is drawn.

    >>> print(Table(data="digits", head=("", "mAP"), rows=(("raw", "**66.0**"),)).markdown)
    |  | mAP |
    |---|---:|
    | raw | **66.0** |
    """

    data: str
    head: TableRow
    rows: tuple[TableRow, ...]
    rules: tuple[int, ...] = ()
    made: str = ""

    @property
    def markdown(self) -> str:
        """The table for a page."""
        return markdown(self.head, self.rows)


class Line(_Data):
    """One line of a panel; `spread`: the standard deviation over seeds of each y; `paper`: printed in the paper."""

    label: str
    x: Numbers
    y: Numbers
    spread: Numbers | None = None
    paper: bool = False


class Lines(_Data):
    """A panel of lines; `zoom`: the corner (x0, x1, y0, y1) that is drawn again, enlarged."""

    kind: Literal["lines"] = "lines"
    title: str
    xlabel: str
    ylabel: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    zoom: tuple[float, float, float, float] | None = None


class Histogram(_Data):
    """A panel of counts between `edges`, for each label; `mark`: a value to be shown, a threshold, and its name."""

    kind: Literal["histogram"] = "histogram"
    title: str
    xlabel: str
    edges: Numbers
    counts: dict[str, Numbers]
    mark: float | None = None
    mark_label: str = ""
    log_x: bool = False
    log_y: bool = False


class Map(_Data):
    """A panel of points in the colour of their class."""

    kind: Literal["map"] = "map"
    title: str
    x: Numbers
    y: Numbers
    labels: tuple[int, ...]


Panel = Annotated[Lines | Histogram | Map, Field(discriminator="kind")]


class Chart(_Data):
    """Panels that belong together; `name`: of its files; `text`: what to see in it."""

    name: str
    title: str
    text: str
    panels: tuple[Panel, ...]


class Claim(_Data):
    """A claim of the paper, where it is made there, and what was measured about it on one set."""

    claim: str
    where: str
    data: str
    verdict: Verdict
    figures: str


class CaseStudy(_Data):
    """One sub-graph: L nodes, the probe first, their classes, and the attention weights of each form.

    weights[form][i][j]: the weight of node j in the row of node i; each row sums to one. similarities[i][j]: cosines.
    """

    data: str
    text: str
    nodes: tuple[str, ...]
    labels: tuple[int, ...]
    similarities: tuple[Numbers, ...]
    weights: dict[str, tuple[Numbers, ...]]


class ExperimentResult(_Data):
    """Everything that one experiment measured: "table2", "figure4", ...

    quick    measured on small sets with one seed
    cells    how many numbers it is made of; seconds: what they took together
    keys     {set: hash of settings and data} of experiments that are not made of cells

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> ExperimentResult(name="table2", title="Table 2", about="mAP").save(folder).name
    'table2.json'
    >>> [result.title for result in read_results(folder)]
    ['Table 2']
    """

    format: int = RESULT_FORMAT
    name: str
    title: str
    about: str
    quick: bool = False
    seeds: int = 1
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    claims: tuple[Claim, ...] = ()
    cases: tuple[CaseStudy, ...] = ()
    cells: int = 0
    seconds: float = 0.0
    versions: dict[str, str] = {}
    keys: dict[str, str] = {}

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write it into the folder of a run, whole or not at all, and return the file."""
        path = Path(folder) / f"{self.name}.json"
        if path.exists() and path.name not in added(path.parent, RUN_KIND):
            read_result(path)  # refuses what is not ours
        with replacing(path, force=True) as temporary:
            temporary.write_text(self.model_dump_json(), encoding="utf-8")
        record(path.parent, RUN_KIND, [path.name])
        return path

    def joined(self, earlier: ExperimentResult) -> ExperimentResult:
        """Return this result with the parts of an earlier one that are about other sets.

        >>> one, two = (Table(data=name, head=("",), rows=()) for name in ("one", "two"))
        >>> old, new = (ExperimentResult(name="t", title="", about="", tables=(table,)) for table in (one, two))
        >>> [table.data for table in new.joined(old).tables]
        ['one', 'two']
        """
        parts: list[Table | Claim | CaseStudy] = [*self.tables, *self.claims, *self.cases]
        here = {part.data for part in parts}
        charts = {chart.name: chart for chart in (*earlier.charts, *self.charts)}
        for chart in earlier.charts:
            known = {panel.title: panel for panel in chart.panels}
            now = charts[chart.name].panels
            others = [panel for panel in chart.panels if panel.title not in {here.title for here in now}]
            panels = (*others, *(_with_lines_of(known.get(panel.title), panel) for panel in now))
            charts[chart.name] = charts[chart.name].model_copy(update=dict(panels=panels))
        kept = [table for table in earlier.tables if table.data not in here]
        return self.model_copy(
            update=dict(
                tables=(*kept, *self.tables),
                claims=(*(claim for claim in earlier.claims if claim.data not in here), *self.claims),
                cases=(*(case for case in earlier.cases if case.data not in here), *self.cases),
                charts=tuple(charts.values()),
                versions={**earlier.versions, **self.versions},
                keys={**earlier.keys, **self.keys},
            )
        )


def _with_lines_of(earlier: Panel | None, panel: Panel) -> Panel:
    """Return a panel of lines with those of an earlier one that it lacks, such as the lines of other sets."""
    if not isinstance(earlier, Lines) or not isinstance(panel, Lines):
        return panel
    labels = {line.label for line in panel.lines}
    return panel.model_copy(
        update=dict(lines=(*(line for line in earlier.lines if line.label not in labels), *panel.lines))
    )


def read_result(path: str | os.PathLike[str]) -> ExperimentResult:
    """Read one file of a run; a damaged or newer one is refused by name, a former name becomes the present one."""
    file = Path(path)
    try:
        facts: Any = pydantic.TypeAdapter(dict[str, Any]).validate_json(file.read_bytes())
        if facts.get("format") != RESULT_FORMAT:
            found = facts.get("format")
            raise InputError(
                f"{file} has format {found!r}, this kinfolk reads {RESULT_FORMAT}: run kinfolk reproduce again"
            )
        result = ExperimentResult.model_validate_json(file.read_bytes())
    except pydantic.ValidationError:
        raise InputError(f"{file} is damaged or no result of kinfolk reproduce: remove it and run that again") from None
    present = {former: name for name, former in FORMER_NAMES.items()}
    return result.model_copy(update=dict(name=present.get(result.name, result.name)))


def read_results(folder: str | os.PathLike[str]) -> list[ExperimentResult]:
    """Read all results of a run, in the order of their files; of a former and a present name only the present one."""
    place = existing_folder(folder, "the folder of a run, made by kinfolk reproduce --out")
    found = sorted(file for file in place.glob("*.json") if file.name != MANIFEST)
    if not found:
        raise InputError(f"{place} holds no results yet: run kinfolk reproduce NAME --out {place}")
    replaced = {f"{former}.json" for name, former in FORMER_NAMES.items() if place / f"{name}.json" in found}
    return [read_result(file) for file in found if file.name not in replaced]
