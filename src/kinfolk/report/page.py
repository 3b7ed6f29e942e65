"""One HTML file that needs nothing else: no network, no script from elsewhere, figures as SVG inside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

from kinfolk.files import replacing


@dataclass(frozen=True)
class Card:
    """One number a reader should see first."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells; a click on a column head sorts by it. `best` names the cells to set in bold: (row, column)."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: str = ""
    best: frozenset[tuple[int, int]] = frozenset()
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class Figure:
    """An SVG picture with a sentence that says what to see in it."""

    title: str
    svg: str
    text: str = ""
    kind: str = field(default="figure", init=False)

    @property
    def markup(self) -> Markup:
        """The picture as HTML."""
        return Markup(self.svg)  # made by our own figures, never from user input


@dataclass(frozen=True)
class Page:
    """A report: a title, what it is about, cards, then tables and figures in order."""

    title: str
    lead: str
    cards: Sequence[Card]
    sections: Sequence[Table | Figure]
    footer: str = ""


def write_page(page: Page, path: str | os.PathLike[str], force: bool = False) -> Path:
    """Write the report to one HTML file and return where it is.

    >>> import tempfile
    >>> page = Page("Test", "Nothing to see.", [Card("7", "items")], [Table("T", ["a"], [["1"]])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "Nothing to see." in write_page(page, Path(folder) / "r.html").read_text()
    True
    """
    source = files("kinfolk.report").joinpath("page.html.j2").read_text()
    html = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source).render(page=page)
    with replacing(path, force) as temporary:
        temporary.write_text(html)
    return Path(path)
