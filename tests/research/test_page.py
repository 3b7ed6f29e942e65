"""Marked places of a page."""

from pathlib import Path

from research._page import DOCS, put, write

from research import attention_study


def test_the_text_between_the_marks_is_replaced_each_time():
    page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    assert put(put(page, "x", "new"), "x", "newer") == "a\n<!-- x -->\nnewer\n<!-- /x -->\nb\n"


def test_the_page_of_the_attention_study_has_every_mark_once():
    page = (DOCS / "attention.md").read_text()
    assert all(
        page.count(f"<!-- {name} -->\n") == page.count(f"<!-- /{name} -->") == 1 for name in attention_study.SECTIONS
    )


def test_a_file_is_replaced(tmp_path: Path):
    write(tmp_path / "a.md", "one")
    write(tmp_path / "a.md", "two")
    assert (tmp_path / "a.md").read_text() == "two"
