"""Text of a user's, such as names of rows, parts and files, made safe to show."""

from __future__ import annotations

import unicodedata


def printable(text: object) -> str:
    r"""Return a text in which nothing acts on a terminal: control characters and half characters are spelled out.

    A name can hold codes that move the cursor, colour or retitle a terminal, or turn the direction of writing. Line
    breaks stay: errors and tables have some of their own.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    >>> printable("Åsa 田中\n")
    'Åsa 田中\n'
    """
    whole = str(text)
    return whole if whole.isprintable() else "".join(map(_spelled, whole))


def _spelled(sign: str) -> str:
    shown = sign.isprintable() or sign == "\n" or unicodedata.category(sign) == "Zs"  # other spaces than " "
    return sign if shown else repr(sign)[1:-1]


def safe_cell(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe goes before = + - @, a tab and a return.

    >>> safe_cell("=cmd|' /C calc'!A0"), safe_cell("a=b")
    ("'=cmd|' /C calc'!A0", 'a=b')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
