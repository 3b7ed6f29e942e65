"""One HTML file that needs nothing else: no network, no script from elsewhere, figures as SVG inside."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

from kinfolk._core.files import replacing
from kinfolk._core.version import __version__


@dataclass(frozen=True)
class Card:
    """One number a reader should see first; `tone`: "good", "bad" or "open", where it is a verdict."""

    value: str
    label: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class PageTable:
    """Rows of cells; a click on a column head sorts by it.

    `best` names the cells to set in bold: (row, column). `rules`: before which rows a line is drawn. `apart`: columns
    with the paper's numbers. `note`: the commits that made it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: str = ""
    best: frozenset[tuple[int, int]] = frozenset()
    rules: frozenset[int] = frozenset()
    apart: frozenset[int] = frozenset()
    note: str = ""
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class PageFigure:
    """An SVG picture with a sentence on what to see in it.

    `narrow`: the same for a narrow screen. `themed`: its colours follow the page.
    """

    title: str
    svg: str
    text: str = ""
    narrow: str = ""
    themed: bool = False
    kind: str = field(default="figure", init=False)

    @property
    def pictures(self) -> Mapping[str, Markup]:
        """The picture as HTML, for each kind of screen."""
        # made by our own figures, which write user input as outlines or escaped
        if not self.narrow:
            return {"all": Markup(self.svg)}
        return {"broad": Markup(self.svg), "narrow": Markup(self.narrow)}


@dataclass(frozen=True)
class ClaimRow:
    """A claim in a table of claims: `where` in the paper it is made, `chapter`: where its numbers are."""

    claim: str
    where: str
    data: str
    verdict: str
    figures: str
    chapter: str


@dataclass(frozen=True)
class PageClaims:
    """PageClaims at a glance, and as a list to be sorted and filtered; `counts`: how many have each verdict."""

    title: str
    rows: Sequence[ClaimRow]
    counts: Mapping[str, int]
    text: str = ""
    kind: str = field(default="claims", init=False)

    @property
    def sets(self) -> list[str]:
        """The data sets, the columns of the glance."""
        return list(dict.fromkeys(row.data for row in self.rows))

    @property
    def at_a_glance(self) -> dict[tuple[str, str], dict[str, dict[str, ClaimRow]]]:
        """The claims of each place in the paper and its chapter, and of each claim the row of every set."""
        places: dict[tuple[str, str], dict[str, dict[str, ClaimRow]]] = {}
        for row in self.rows:
            places.setdefault((row.where, row.chapter), {}).setdefault(row.claim, {})[row.data] = row
        return places


@dataclass(frozen=True)
class PageCase:
    """One sub-graph to look into: `json` for the script, `strangers`: the share of attention that goes to them."""

    title: str
    json: str
    strangers: Mapping[str, float]
    text: str = ""
    kind: str = field(default="case", init=False)

    @property
    def script(self) -> Markup:
        """The data as the text of a script element, which no `<` may end early."""
        return Markup(self.json.replace("<", "\\u003c"))


Section = PageTable | PageFigure | PageClaims | PageCase


@dataclass(frozen=True)
class Chapter:
    """Sections under one heading, in the table of contents; `name`: where links go; `verdicts`: on how many claims."""

    name: str
    title: str
    sections: Sequence[Section]
    text: str = ""
    short: str = ""
    verdicts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """A report: a title, what it is about, facts, cards, sections, then chapters with a table of contents.

    `maker`: the command that wrote it; `warning`: what a reader must know before any number.
    """

    title: str
    lead: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    footer: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    chapters: Sequence[Chapter] = ()
    maker: str = "kinfolk"
    warning: str = ""


def write_page(page: Page, path: str | os.PathLike[str], force: bool = False) -> Path:
    """Write the report to one HTML file and return where it is.

    >>> import tempfile
    >>> page = Page("Test", "Nothing to see.", [Card("7", "items")], [PageTable("T", ["a"], [["1"]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "Nothing to see." in write_page(page, Path(folder) / "r.html").read_text()
    True
    """
    # what the page does not show is left out of it
    shown = [*page.sections, *(section for chapter in page.chapters for section in chapter.sections)]
    scripts = ["page.js"] + ["case.js"] * any(section.kind == "case" for section in shown)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    html = environment.from_string(_asset("page.html.j2")).render(
        page=page,
        version=__version__,
        style=Markup(_asset("page.css")),
        scripts=[Markup(_asset(name)) for name in scripts],
    )
    with replacing(path, force) as temporary:
        temporary.write_text(html, encoding="utf-8")
    return Path(path)


def _asset(name: str) -> str:
    return files("kinfolk.report").joinpath("assets", name).read_text(encoding="utf-8")
