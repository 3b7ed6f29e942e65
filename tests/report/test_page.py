"""The HTML file: user input is text, and only the command that made a page replaces it."""

import json
import re

import numpy as np

from kinfolk.experiments.results import Claim, ExperimentResult
from kinfolk.report.page import Card, Page, PageTable, write_page
from kinfolk.report.run import run_page
from synthetic_run import case_study


def test_what_users_name_is_never_html(html):
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; $x_1$" in html
    assert "<i>" not in html.replace('<i class="kin"></i>', "")


def test_names_in_a_case_study_cannot_end_their_script(tmp_path):
    study = case_study(np.random.default_rng(0), (2, 1), "</script><b>")
    study = study.model_copy(update=dict(nodes=("</script><script>alert(1)", "<!--", "c")))
    page = run_page([ExperimentResult(name="closeup", title="Look", about="", cases=(study,))])
    html = write_page(page, tmp_path / "r.html").read_text()
    data = re.search(r'<script type="application/json">(.*?)</script>', html)[1]
    assert json.loads(data)["nodes"] == list(study.nodes)
    assert "alert(1)" not in html.replace(data, "")


def test_a_claim_without_numbers_is_shown(tmp_path):
    claim = Claim(claim="A < B", where="Table 1", data="x", verdict="undecided", figures="")
    page = run_page([ExperimentResult(name="table1", title="Table 1: edges", about="", claims=(claim,))])
    assert "A &lt; B" in write_page(page, tmp_path / "r.html").read_text()


def test_the_script_of_case_studies_is_there_only_where_there_is_one(report, tmp_path):
    bare = write_page(Page("Bare", "", [Card("7", "items")], [PageTable("T", ["a"], [["1"]])]), tmp_path / "bare.html")
    assert "case" in report.read_text() and bare.stat().st_size < report.stat().st_size / 4
    assert bare.read_text().count("<script>") == 1 and report.read_text().count("<script>") == 2


def test_nothing_is_loaded_from_elsewhere(report):
    text = report.read_text()
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", text) and "@import" not in text
