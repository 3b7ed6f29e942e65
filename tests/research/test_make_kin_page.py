"""The page about Kin: its examples run, and its marked places are written from the lines that are measured."""

import doctest
import json
import sys

from research import make_kin_page as script

ROWS = [0, 0, 0, 0, 0, 0, 10, 100, 0, 200]


def calibrated(name, regime, right, draw=0):
    probability = [0, 0, 0, 0, 0, 0, 6.5, 75, 0, 190]
    facts = dict(expected_purity=0.88, purity=0.8, alone=0.25)
    return dict(kind="calibration", set=name, regime=regime, draw=draw, rows=ROWS, probability=probability) | dict(
        right=[0, 0, 0, 0, 0, 0, 0, *right], **facts
    )


def corrected(order, answers, score):
    facts = dict(before=50.0, alone=51.0, rest=56.0, rest_before=52.0)
    return dict(kind="corrections", set="a", regime="zipf", draw=0, order=order, answers=answers, score=score) | facts


LINES = [
    calibrated("a", "plain", [70, 0, 190]),
    calibrated("a", "zipf", [40, 0, 190]),
    calibrated("b", "plain", [75, 0, 170]),
    *(corrected("random", answers, score) for answers, score in ((10, 53.0), (50, 58.0))),
    corrected("least sure", 10, 60.0),
]


def test_bins_with_few_rows_are_left_out_and_failures_are_named():
    text = script.calibration_text(LINES[:3])
    assert "All 3 cells together, 930 rows: no bin is further than 0.65 from the truth (0.6 to 0.7, 30 rows)" in text
    assert "in 2 of 3; it fails on a, zipf (0.35)." in text and "left out: 30 rows" in text
    assert "| 0.6 to 0.7 | 30 | 0.650 | 0.000 |" in text, "three draws together are enough"
    assert "| 0.9 to 1.0 | 600 | 0.950 | 0.917 |" in text
    assert "| 0.0 to 0.1 | 0 | – | – |" in text
    assert "| a, zipf | 0.880 | 0.800 | -0.350 | 0.7 to 0.8 | 100 | 0.250 |" in text


def test_a_cell_without_failures_says_so():
    assert "in 1 of 1. The purity" in script.calibration_text([calibrated("b", "plain", [75, 0, 170])])


def test_answers_have_a_column_each_and_what_followed():
    text = script.corrections_text(LINES[3:])
    assert "|  | 0 | 10 | 50 | the others |" in text
    assert "| a, zipf: random | 50.0 | 53.0 (51.0) | 58.0 (51.0) | +4.0 |" in text
    assert "| a, zipf: least sure | 50.0 | 60.0 (51.0) | – | +4.0 |" in text
    assert "random +8.0, of which +1.0 by the asked rows alone (the others +4.0)" in text


def test_the_page_is_filled_and_writing_twice_changes_nothing(tmp_path, monkeypatch):
    page, results = tmp_path / "kin.md", tmp_path / "kin.jsonl"
    page.write_text("# Kin\n" + "".join(f"<!-- {mark} -->\n<!-- /{mark} -->\nkept\n" for mark in MARKS))
    monkeypatch.setattr(sys, "argv", ["make_kin_page", "--results", str(results), "--page", str(page)])
    script.main()
    assert page.read_text().count("Nothing is measured yet") == 2 and not (tmp_path / "images").exists()
    (tmp_path / "images").mkdir()
    results.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    script.main()
    once = [page.read_text(), *(file.read_bytes() for file in sorted((tmp_path / "images").iterdir()))]
    script.main()
    assert once == [page.read_text(), *(file.read_bytes() for file in sorted((tmp_path / "images").iterdir()))]
    assert len(once) == 3 and once[0].count("kept") == 2


MARKS = ("calibration", "corrections")


def test_the_page_has_its_places_and_its_examples_run():
    page = (script.DOCS / "kin.md").read_text()
    assert all(f"<!-- {mark} -->\n" in page and f"<!-- /{mark} -->" in page for mark in MARKS)
    failed, tried = doctest.testfile(str(script.DOCS / "kin.md"), module_relative=False)
    assert failed == 0 and tried > 5
