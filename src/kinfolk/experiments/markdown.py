"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NOT_YET = "*Not measured yet.*"


def spread(values: Sequence[float] | None, sign: bool = False, digits: int = 1) -> str:
    """Return "mean ± standard deviation" of several values, or the one there is.

    >>> spread([80.0, 81.0, 82.0]), spread([80.04]), spread([]), spread([0.5], sign=True)
    ('81.0 ± 1.0', '80.0', '–', '+0.5')
    """
    if not values:
        return "–"
    mean = f"{np.mean(values):{'+' if sign else ''}.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def without_html(text: str) -> str:
    """Return a text of one line that a Markdown page shows as it is, though it holds HTML: names of sets may.

    >>> without_html("<img src=x>")
    '&lt;img src=x>'
    """
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").splitlines())


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, its first column to the left; HTML in a cell is text.

    >>> print(markdown(["set", "mAP"], [["digits", "66.0"]]))
    | set | mAP |
    |---|---:|
    | digits | 66.0 |
    """
    if not rows:
        return NOT_YET
    lines = [head, *rows]
    text = ["| " + " | ".join(map(without_html, line)) + " |" for line in lines]
    return "\n".join([text[0], "|---|" + "---:|" * (len(head) - 1), *text[1:]])
