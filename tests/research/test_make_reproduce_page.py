"""docs/reproduce.md is written from the cells that are finished."""

import sys
from dataclasses import replace

from research._page import DOCS

import kinfolk as kf
from kinfolk.experiments.catalogue import EXPERIMENT_NAMES, STUDIES
from kinfolk.experiments.results import Claim
from research import make_reproduce_page as script


def test_the_page_has_a_place_for_every_table_and_figure():
    page = (DOCS / "reproduce.md").read_text()
    assert all(f"<!-- {name} -->" in page and f"`{name}`" in page for name in EXPERIMENT_NAMES)


def test_the_page_is_written_from_finished_cells(tmp_path, monkeypatch):
    kf.datasets.person_like(30, seed=0, dim=16).save(tmp_path / "tiny.npz")
    monkeypatch.setattr(script, "EXPERIMENT_NAMES", ("table1",))
    monkeypatch.setitem(script.STUDIES, "table1", replace(STUDIES["table1"], generated=()))
    monkeypatch.setattr(script, "SETS", {"table1": ("tiny",)})
    monkeypatch.setattr(script, "DOCS", tmp_path)
    monkeypatch.setattr(script, "RESULTS", tmp_path / "results")
    marks = "".join(f"<!-- {mark} -->\n<!-- /{mark} -->\n" for mark in ("claims", "table1"))
    (tmp_path / "reproduce.md").write_text(marks)
    for extra, shown in ((["--no-run"], "Not measured yet"), ([], "**tiny**")):
        monkeypatch.setattr(sys, "argv", ["make_reproduce_page", "--data", str(tmp_path), *extra])
        script.main()
        assert shown in (tmp_path / "reproduce.md").read_text()
    written = (tmp_path / "reproduce.md").read_text()
    assert "7 cells: 7 by commit" in written
    assert "3 claims, each on one set" in written and "96.80" in written
    assert "![What many tests gain](images/reproduce-table1.svg)" in written
    assert (tmp_path / "images" / "reproduce-table1.svg").read_text().startswith("<svg")


def test_claims_are_counted_with_a_sign_for_each_set():
    verdicts = {"one (generated)": "holds", "two": "undecided"}
    claims = [
        Claim(claim="A", where="Table 1", data=data, verdict=verdict, figures="1") for data, verdict in verdicts.items()
    ]
    table = script.claims_table(claims)
    assert table.startswith("2 claims, each on one set: 1 holds (✓), 0 does not hold (✗), 1 undecided (?).")
    assert "| claim | one | two | in the paper |" in table and "| A | ✓ | ? | Table 1 |" in table
