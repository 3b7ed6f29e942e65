"""The page of a run."""

import re

from kinfolk.experiments.results import ExperimentResult, Table
from kinfolk.report.run import claim_counts, in_paper_order, page_table, run_page


def test_results_follow_the_paper_and_unknown_ones_come_last(run, html):
    names = ["figure3", "table2", "figure4", "table3", "closeup", "own"]
    assert [result.name for result in in_paper_order(run)] == names
    assert re.findall(r'<section id="(.*?)">', html) == ["claims", *names, "made"]
    assert re.findall(r'<li><a href="#(.*?)"', html) == ["claims", *names, "made"]


def test_the_summary_says_how_much_was_measured_and_with_what(page):
    assert page.lead == "2 tables, 2 figures and 2 studies, measured on 4 data sets with 3 seeds."
    assert page.facts["measured in"] == "2 h 35 min"
    assert page.facts["cells"] == "319"
    assert page.facts["commits"] == "858b544, ca0955d"
    assert page.facts["versions"] == "kinfolk 0.1.0, numpy 2.4.6, torch 2.13.0"
    assert [(card.value, card.tone) for card in page.cards] == [("6", "good"), ("2", "bad"), ("4", "open")]
    assert page.warning == ""
    made = page.chapters[-1].sections[0]
    assert made.rows[3][0] == "Table 3: clusters of faces" and "858b544" in made.rows[3][-1]


def test_a_quick_run_warns_and_says_where_sizes_and_seeds_differ():
    quick = ExperimentResult(name="table1", title="Table 1", about="", quick=True)
    page = run_page([quick, ExperimentResult(name="figure3", title="", about="", seeds=3)])
    assert "for orientation only" in page.warning
    assert page.facts["size"] == "quick and larger"
    assert page.lead.endswith("with 1 to 3 seeds.")


def test_a_run_without_claims_has_neither_cards_nor_their_table():
    page = run_page([ExperimentResult(name="table1", title="Table 1", about="")])
    assert page.cards == []
    assert [chapter.name for chapter in page.chapters] == ["table1", "made"]


def test_stars_rules_and_the_papers_columns(run):
    table = page_table(run[0].tables[0], "x")
    assert table.best == {(11, 1), (11, 2)} and "*" not in table.rows[11][1]
    assert table.rules == {6, 9}
    assert table.apart == {4, 5}
    head = ("k", "ENR", "paper", "AUC, the paper", "newspapers")
    assert page_table(Table(data="", head=head, rows=()), "").apart == {2, 3, 4}


def test_claims_are_counted_and_linked_to_their_numbers(run, html):
    assert claim_counts(run) == {"holds": 6, "does not hold": 2, "undecided": 4}
    assert html.count('<tr data-verdict="') == 12
    glance, listed = html.split('<table class="glance">')[1].split("</details>")[0].split("<details")
    assert listed.count('<a href="#table2">') == sum(len(one.claims) for one in run if one.name == "table2")
    assert glance.count('class="badge" data-verdict="does not hold" title=') == 2
    assert '<a href="#table2">Section 4.1</a>' in html
