"""The section about peers is written from the lines that are measured."""

import json
import sys

from research import make_peers_page as script


def line(method, score, place=("omniglot", "zipf"), draw=0, oracle=False):
    how = dict(oracle=oracle, setting="default", nmi=1.0, ari=1.0, clusters=1200, seconds=2.0, version="kinfolk 1 abc")
    return dict(set=place[0], regime=place[1], draw=draw, method=method, score=score) | how


ROWS = [
    line("all alone", 30.0),
    line("HAC", 50.0),
    line("HAC", 54.0, draw=1),
    line("Infomap", 20.0),
    line("Infomap", 22.0, draw=1),
    line("EVoC", None),
    line("HAC, best threshold", 70.0, oracle=True),
    line("all alone", 5.0, ("omniglot", "plain")),
    line("HAC", 40.0, ("omniglot", "plain")),
    line("all alone", 1.0, ("easy", "3 x 9")),
    line("HAC", 100.0, ("easy", "3 x 9")),
]


def test_the_best_is_bold_and_what_loses_to_nothing_done_is_marked():
    text = script.section(ROWS)
    assert "|  | all alone (1 draw) | HAC | Infomap | EVoC (1 draw) |" in text
    assert "| omniglot, zipf | 30.0 | **52.0 ± 2.0** | 21.0 ± 1.0 ↓ | failed |" in text
    assert "| mean of the 1 | 30.0 | **52.0** | 21.0 | – |" in text
    assert "| most behind the best | 22.0 | 0.0 | 31.0 | – |" in text


def test_oracles_stand_apart_beside_the_best_default_of_the_same_draws():
    text = script.section(ROWS)
    assert "| omniglot, zipf | **70.0** | 50.0 HAC |" in text and "| omniglot, plain | – | 40.0 HAC |" in text


def test_easy_sets_and_seconds_have_tables():
    text = script.section(ROWS)
    assert "| 3 x 9 | 1.0 | **100.0** | – | – |" in text
    assert "| seconds | omniglot (1,200 rows) |" in text and "| HAC | 2.0 |" in text
    assert text.endswith("11 cells: 11 by kinfolk 1 abc.")


def test_kin_is_the_first_column():
    assert "|  | Kin | all alone | HAC" in script.section(
        [*ROWS, line("Kin", 60.0), line("Kin", 61.0, draw=1)]
    ).replace(" (1 draw)", "")


def test_nothing_measured_is_said():
    assert "Nothing is measured yet" in script.section([])


def test_the_rest_of_the_page_is_kept_and_writing_twice_changes_nothing(tmp_path, monkeypatch):
    results, page = tmp_path / "lines.jsonl", tmp_path / "page.md"
    results.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    page.write_text("# Peers\n\nOld text.\n")
    arguments = ["--results", results, "--page", page, "--output", page]
    monkeypatch.setattr(sys, "argv", ["make_peers_page", *map(str, arguments)])
    script.main()
    once = page.read_text()
    script.main()
    assert once.startswith("# Peers\n\nOld text.\n\n<!-- peers-on-albums -->\n## Peers") and page.read_text() == once
