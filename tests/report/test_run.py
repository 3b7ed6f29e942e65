"""The page of a run."""

import json
import re

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.experiments.results import Chart, Claim, Histogram, Line, Lines, Map, Outcome, Table
from kinfolk.report import page as pages
from kinfolk.report.case import case_section, strangers
from kinfolk.report.run import claim_counts, in_paper_order, page_table, run_page
from synthetic_run import case_study


@pytest.fixture(scope="session")
def html(report):
    return report.read_text()


def test_outcomes_follow_the_paper_and_unknown_ones_come_last(run, html):
    names = ["figure3", "table2", "figure4", "table3", "look", "own"]
    assert [outcome.name for outcome in in_paper_order(run)] == names
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
    quick = Outcome(name="table1", title="Table 1", about="", quick=True)
    page = run_page([quick, Outcome(name="figure3", title="", about="", seeds=3)])
    assert "for orientation only" in page.warning
    assert page.facts["size"] == "quick and larger"
    assert page.lead.endswith("with 1 to 3 seeds.")


def test_a_run_without_claims_has_neither_cards_nor_their_table():
    page = run_page([Outcome(name="table1", title="Table 1", about="")])
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


def test_what_users_name_is_never_html(html):
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; $x_1$" in html
    assert "<i>" not in html.replace('<i class="kin"></i>', "")


def test_names_in_a_case_study_cannot_end_their_script(tmp_path):
    study = case_study(np.random.default_rng(0), (2, 1), "</script><b>")
    study = study.model_copy(update=dict(nodes=("</script><script>alert(1)", "<!--", "c")))
    page = run_page([Outcome(name="look", title="Look", about="", cases=(study,))])
    html = pages.write_page(page, tmp_path / "r.html").read_text()
    data = re.search(r'<script type="application/json">(.*?)</script>', html)[1]
    assert json.loads(data)["nodes"] == list(study.nodes)
    assert "alert(1)" not in html.replace(data, "")


def test_a_case_study_is_short_and_whole():
    study = case_study(np.random.default_rng(0), (5, 3, 1), "toy")
    facts = json.loads(case_section(study).json)
    assert [form["name"] for form in facts["forms"]] == ["self", "quartet", "band"]
    np.testing.assert_allclose(facts["forms"][0]["weights"], study.weights["self"], atol=5e-5)
    assert all(len(str(weight)) <= 7 for row in facts["similarities"] for weight in row)


def test_attention_between_strangers_equals_counting_it():
    study = case_study(np.random.default_rng(0), (5, 3, 1), "toy")
    for form, share in strangers(study).items():
        shares = []
        for i in range(9):
            paid = {j: study.weights[form][i][j] for j in range(9) if j != i}
            shares.append(sum(paid[j] for j in paid if study.labels[j] != study.labels[i]) / sum(paid.values()))
        assert share == pytest.approx(np.mean(shares))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_case_study_with_a_value_that_is_no_number_is_refused(value):
    study = case_study(np.random.default_rng(0), (2,), "toy")
    broken = study.model_copy(update=dict(weights={"self": ((value, 1.0), (0.0, 1.0))}))
    with pytest.raises(InputError, match="self in the case study of toy has a value that is no number"):
        run_page([Outcome(name="look", title="", about="", cases=(broken,))])


LINE = Line(label="a", x=(1.0,), y=(1.0, 2.0))
SPREAD = Line(label="a", x=(1.0,), y=(1.0,), spread=(1.0, 2.0))


@pytest.mark.parametrize(
    ("panel", "sentence"),
    [
        (Lines(title="t", xlabel="", ylabel="", lines=(LINE,)), "lengths in panel 't' of the chart c differ"),
        (Lines(title="t", xlabel="", ylabel="", lines=(SPREAD,)), "lengths in panel"),
        (Histogram(title="t", xlabel="", edges=(0, 1), counts={"a": (1, 2)}), "lengths in panel"),
        (Map(title="t", x=(1.0,), y=(1.0,), labels=(1, 2)), "lengths in panel"),
        (None, "chart c has no panels"),
    ],
)
def test_charts_that_do_not_fit_are_refused(panel, sentence):
    chart = Chart(name="c", title="", text="", panels=() if panel is None else (panel,))
    with pytest.raises(InputError, match=f"figure3 is damaged: .*{sentence}"):
        run_page([Outcome(name="figure3", title="", about="", charts=(chart,))])


@pytest.mark.parametrize("field", ["nodes", "labels", "similarities"])
def test_case_studies_that_do_not_fit_are_refused(field):
    study = case_study(np.random.default_rng(0), (2, 2), "toy")
    study = study.model_copy(update={field: getattr(study, field)[:-1]})
    with pytest.raises(InputError, match=r"look is damaged: .*case study of toy"):
        run_page([Outcome(name="look", title="", about="", cases=(study,))])


def test_a_claim_without_numbers_is_shown(tmp_path):
    claim = Claim(claim="A < B", where="Table 1", data="x", verdict="undecided", figures="")
    page = run_page([Outcome(name="table1", title="Table 1: edges", about="", claims=(claim,))])
    assert "A &lt; B" in pages.write_page(page, tmp_path / "r.html").read_text()
