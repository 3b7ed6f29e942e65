"""The report of the demo: one test against many, then the features that many tests make."""

from __future__ import annotations

from collections.abc import Sequence

from kinfolk._core.version import __version__
from kinfolk.experiments.edge_study import EdgeStudy
from kinfolk.experiments.enhance_study import EnhanceStudy
from kinfolk.report.edge_study import edge_card, edge_sections
from kinfolk.report.enhance_study import enhance_card, enhance_sections
from kinfolk.report.page import Page

LEAD = (
    "A neighbour graph joins each vector to its nearest ones, and some of these edges are wrong. Sim-S judges an edge "
    "by one test, the similarity of its two ends. Sim-M averages the tests of all neighbours that both ends share. It "
    "needs enough tests (k not too small) and loses where k is much larger than a class: most shared neighbours are "
    "then strangers. The enhancer tests at many k at once and makes better features from the edges that hold. Every "
    "number on this page was measured in the run that wrote it."
)


def demo_page(edges: Sequence[EdgeStudy], enhanced: Sequence[EnhanceStudy]) -> Page:
    """Return the page: cards, what the enhancer does to features, and what the tests do to the edges below them."""
    cards = [*map(edge_card, edges), *map(enhance_card, enhanced)]
    sections = [*enhance_sections(enhanced), *edge_sections(edges)]
    return Page("kinfolk demo", LEAD, cards, sections, f"kinfolk {__version__}")
