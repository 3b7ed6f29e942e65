"""Marked places of a Markdown page, which the scripts fill with what they measured."""

from __future__ import annotations

from pathlib import Path

from kinfolk._core.files import replacing

ROOT = Path(__file__).parent.parent
DOCS, IMAGES, RESULTS = ROOT / "docs", ROOT / "docs" / "images", ROOT / "research" / "results"


def put(page: str, mark: str, text: str) -> str:
    """Return the page with the text between `<!-- mark -->` and `<!-- /mark -->`.

    >>> put("before\\n<!-- a -->\\nold\\n<!-- /a --> after", "a", "new")
    'before\\n<!-- a -->\\nnew\\n<!-- /a --> after'
    """
    before, rest = page.split(f"<!-- {mark} -->\n", 1)
    after = rest.split(f"<!-- /{mark} -->", 1)[1]
    return f"{before}<!-- {mark} -->\n{text.strip()}\n<!-- /{mark} -->{after}"


def write(path: Path, text: str) -> None:
    """Replace a file, whole or not at all."""
    with replacing(path, force=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
