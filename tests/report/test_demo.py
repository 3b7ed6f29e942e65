"""The page of the demo: both parts, cards of both first."""

import kinfolk as kf
from kinfolk.experiments.edge_study import edge_study
from kinfolk.experiments.enhance_study import enhance_study
from kinfolk.report.demo import demo_page


def test_the_page_has_cards_and_sections_of_both_studies():
    persons = kf.datasets.person_like(12, dim=16)
    edges = edge_study("persons", "generated", persons, [5, 10], k=10)
    page = demo_page([edges], [enhance_study("persons", "a note", persons, k=10)])
    assert [card.label for card in page.cards] == ["noisy edges let through, persons", "mAP × 100, persons"]
    assert [section.title for section in page.sections] == [
        "Enhanced features",
        "Before and after, persons",
        "Edges, persons",
        "Scores of the edges, persons",
        "Which edges are true?",
    ]
    assert page.footer == f"kinfolk {kf.__version__}"
