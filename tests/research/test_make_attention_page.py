"""The page of the attention study is written from the cells that are finished."""

import sys

from research.attention_cells import Cell, attention_store, run_cells

from research import make_attention_page as script


def test_finished_cells_become_a_table(tiny, tmp_path, monkeypatch):
    cells = [Cell("omniglot", "raw", None, k=k) for k in (5, 10)]
    run_cells(cells[:1], lambda name, seed: tiny, attention_store(tmp_path / "cells.jsonl"), lambda line: None)
    monkeypatch.setitem(script.SECTIONS, "over-k", lambda: cells)
    monkeypatch.setattr(script, "study_data", lambda name, seed, folder: tiny)
    (tmp_path / "images").mkdir()
    page = tmp_path / "page.md"
    page.write_text("# a\n<!-- over-k -->\n<!-- /over-k -->\nb\n")
    files = ["--results", tmp_path / "cells.jsonl", "--page", page]
    monkeypatch.setattr(sys, "argv", ["make_attention_page", "over-k", "--no-run", *map(str, files)])
    script.main()
    written = page.read_text()
    assert "| omniglot |" in written and "1 cells: 1 by commit" in written and written.endswith("<!-- /over-k -->\nb\n")
    assert (tmp_path / "images" / "attention-over-k.svg").read_text().startswith("<svg")
