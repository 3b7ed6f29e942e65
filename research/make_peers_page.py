"""The section of docs/peers.md about peers on data as people have them, from one file of results.

    python -m research.make_peers_page                               # to /tmp/peers-page.md, to be looked at
    python -m research.make_peers_page --output docs/peers.md        # into the page itself

All numbers come from research/results/peers_on_albums.jsonl, which research/peers_on_albums.py measures. The rest of
the page is kept as it is; the section stands between marks, and at the end where the page has no marks yet.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from research._page import DOCS, put, write
from research.peers_on_albums import EASY, FILE, METHODS, ONE_DRAW, read

MARK = "peers-on-albums"
ALONE = "all alone"
FIRST = ("Kin", ALONE)  # the columns before all others

Row = dict[str, Any]
Place = tuple[str, str]  # set, regime


class Results:
    """The lines of the file by place and method."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self.by_cell: dict[tuple[Place, str], list[Row]] = {}
        for row in self.rows:
            self.by_cell.setdefault(((row["set"], row["regime"]), row["method"]), []).append(row)

    def methods(self, oracle: bool) -> list[str]:
        """Return the measured methods, Kin and all alone first, then in the order in which they are measured."""
        there = {row["method"] for row in self.rows if row["oracle"] == oracle}
        return [name for name in (*FIRST, *(m for m in METHODS if m not in FIRST)) if name in there]

    def places(self, keep: Callable[[Place], bool]) -> list[Place]:
        """Return the sets and regimes, in the order of the file."""
        return [place for place in dict.fromkeys((r["set"], r["regime"]) for r in self.rows) if keep(place)]

    def scores(self, place: Place, method: str) -> list[float]:
        """Return the score of each draw; empty where none is measured or the method failed."""
        return [row["score"] for row in self.by_cell.get((place, method), ()) if row["score"] is not None]

    def mean(self, place: Place, method: str) -> float:
        """Return the mean over the draws, nan without any."""
        return float(np.mean(found)) if (found := self.scores(place, method)) else float("nan")

    def cell(self, place: Place, method: str) -> str:
        """Return mean ± spread, or why there is none."""
        if scores := self.scores(place, method):
            return f"{np.mean(scores):.1f}" + (f" ± {np.std(scores):.1f}" if len(scores) > 1 else "")
        return "failed" if (place, method) in self.by_cell else "–"

    def draws(self, method: str) -> int:
        """Return the largest number of draws of a place."""
        return max((len(rows) for (_, name), rows in self.by_cell.items() if name == method), default=0)


def uneven(place: Place) -> bool:
    return place[0] != EASY and place[1] not in ONE_DRAW


def even(place: Place) -> bool:
    return place[0] != EASY and place[1] in ONE_DRAW


def easy(place: Place) -> bool:
    return place[0] == EASY


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown; all columns but the first are numbers.

    >>> print(table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    rows = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    return "\n".join([rows[0], "|---|" + "---:|" * (len(head) - 1), *rows[1:]])


def best(means: Sequence[float]) -> float:
    """Return the highest mean as it is printed, nan without any."""
    return max((round(m, 1) for m in means if not np.isnan(m)), default=float("nan"))


def score_line(results: Results, place: Place, methods: Sequence[str]) -> list[str]:
    """Return the name of a place and its scores: the best in bold, those below leaving every row alone with ↓."""
    means = [results.mean(place, method) for method in methods]
    top, alone = best(means), results.mean(place, ALONE)
    cells = []
    for method, mean in zip(methods, means, strict=True):
        text = results.cell(place, method)
        text = f"**{text}**" if round(mean, 1) == top else text
        cells.append(f"{text} ↓" if method != ALONE and mean < alone else text)
    return [place[1] if easy(place) else f"{place[0]}, {place[1]}", *cells]


def mean_line(results: Results, places: Sequence[Place], methods: Sequence[str]) -> list[str]:
    """Return the mean of the places for methods that have them all."""
    means = [float(np.mean([results.mean(place, method) for place in places])) for method in methods]
    top = best(means)
    texts = ["–" if np.isnan(m) else f"**{m:.1f}**" if round(m, 1) == top else f"{m:.1f}" for m in means]
    return [f"mean of the {len(places)}", *texts]


def worst_line(results: Results, places: Sequence[Place], methods: Sequence[str]) -> list[str]:
    """Return how many points each method is behind the best of these methods where it loses most."""
    lines = np.array([[results.mean(place, method) for method in methods] for place in places])
    tops = np.nan_to_num(lines, nan=-1.0).max(axis=1, keepdims=True)
    behind = (tops - lines).max(axis=0)  # nan where a place is missing
    return ["most behind the best", *("–" if np.isnan(b) else f"{b:.1f}" for b in behind)]


def heads(results: Results, methods: Sequence[str]) -> list[str]:
    """Return the names of the methods, with the number of draws where it is not that of most."""
    draws = {method: results.draws(method) for method in methods}
    usual = max(draws.values())
    return [m if draws[m] == usual else f"{m} ({draws[m]} {'draw' if draws[m] == 1 else 'draws'})" for m in methods]


def scores_table(results: Results, keep: Callable[[Place], bool], methods: Sequence[str], summary: bool) -> str:
    """Return one table of scores, with two lines about all places where asked."""
    places = results.places(keep)
    lines = [score_line(results, place, methods) for place in places]
    if summary and places:
        lines += [mean_line(results, places, methods), worst_line(results, places, methods)]
    names = heads(results, methods) if summary else methods
    return table(["", *names], lines)


def oracle_table(results: Results, keep: Callable[[Place], bool]) -> str:
    """Return the scores of the oracles, and beside them the best default on the draws that the oracles have."""
    oracles, defaults = results.methods(True), results.methods(False)
    draws = max(results.draws(method) for method in oracles)
    same = Results(row for row in results.rows if row["draw"] < draws)
    lines = []
    for place in results.places(keep):
        line = score_line(results, place, oracles)
        means = {method: same.mean(place, method) for method in defaults}
        named = {method: mean for method, mean in means.items() if not np.isnan(mean)}
        winner = max(named, key=lambda method: named[method], default="")
        lines.append([*line, f"{named[winner]:.1f} {winner}" if winner else "–"])
    return table(["", *heads(results, oracles), "best default"], lines)


def seconds_table(results: Results) -> str:
    """Return the seconds of each method on the whole test parts."""
    places = results.places(even)
    lines = []
    for method in (*results.methods(False), *results.methods(True)):
        rows = [results.by_cell.get((place, method), []) for place in places]
        if method != ALONE and any(rows):
            lines.append([method, *(f"{row[0]['seconds']:.1f}" if row else "–" for row in rows)])
    return table(["seconds", *(f"{name} ({rows_in(results, (name, regime))} rows)" for name, regime in places)], lines)


def rows_in(results: Results, place: Place) -> str:
    """Return the number of rows: that of the clusters where every row is alone."""
    found = results.by_cell.get((place, ALONE))
    return f"{found[0]['clusters']:,}" if found else "?"


def made_with(results: Results) -> str:
    """Return a sentence with the versions that made the numbers."""
    found = Counter(row["version"] for row in results.rows)
    return f"{found.total():,} cells: " + "; ".join(f"{count:,} by {name}" for name, count in found.most_common()) + "."


def section(rows: Sequence[Row]) -> str:
    """Return the section, without its marks."""
    if not rows:
        return TEXT_EMPTY
    results = Results(rows)
    defaults = results.methods(False)
    parts = [
        TEXT.format(draws=max(results.draws(method) for method in defaults)),
        "### Uneven sets, defaults",
        scores_table(results, uneven, defaults, summary=True),
        "### Whole test parts, defaults",
        scores_table(results, even, defaults, summary=False),
        "### Easy sets, defaults",
        TEXT_EASY,
        scores_table(results, easy, defaults, summary=False),
    ]
    if results.methods(True):
        parts += ["### Oracles", TEXT_ORACLES, oracle_table(results, lambda place: not easy(place))]
    parts += ["### Seconds", TEXT_SECONDS, seconds_table(results), made_with(results)]
    return "\n\n".join(parts)


TEXT_EMPTY = "## Peers that need no labels\n\nNothing is measured yet: `python -m research.peers_on_albums`."
TEXT = """## Peers that need no labels, on data as people have them

(F_P + F_B) / 2 × 100 of the test parts, as they are (plain) and drawn unevenly: long tails (zipf), a few large classes
among small ones (few-large), three quarters of the classes with a single row (loners), near-duplicates (bursts). Mean ±
standard deviation over {draws} draws, or over the number that the head of a column says; a draw is the same for all.
Each method has its defaults and sees no labels; noise counts as alone. **Bold**: the best default of a line. ↓: worse
than leaving every row alone. `python -m research.peers_on_albums` measures it again,
`python -m research.make_peers_page` writes this section."""
TEXT_EASY = "Well separated Gaussian classes, number × size in dimensions; one draw."
TEXT_ORACLES = """These may do what a user cannot: they are told the true number of classes, or the test labels pick
the best threshold, resolution or k of a grid. No default has to beat them; they show what is left to gain. The last
column is the best default on the same draws. **Bold**: the best oracle."""
TEXT_SECONDS = """Seconds of the processor on the whole test parts, one thread, compiling left out; other work ran
on the machine. Those of an oracle are of its whole grid."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=FILE, help="the measured lines")
    parser.add_argument("--page", type=Path, default=DOCS / "peers.md", help="the page whose other sections are kept")
    parser.add_argument("--output", type=Path, default=Path("/tmp/peers-page.md"), help="where the page is written")
    options = parser.parse_args()
    write(options.output, fill(options.page.read_text(encoding="utf-8"), section(read(options.results))))


def fill(page: str, text: str) -> str:
    """Return the page with the section between its marks, which are added at the end where they are missing."""
    if f"<!-- {MARK} -->\n" not in page:
        page = f"{page.rstrip()}\n\n<!-- {MARK} -->\n<!-- /{MARK} -->\n"
    return put(page, MARK, text)


if __name__ == "__main__":
    main()
