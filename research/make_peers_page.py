"""The section of docs/peers.md about peers on data as people have them, and the small table of README.md.

    python -m research.make_peers_page                        # both, from the measured lines
    python -m research.make_peers_page --into /tmp/pages      # a folder with a README.md and a docs/peers.md of its own

All numbers come from research/results/peers_on_albums.jsonl and features_on_albums.jsonl, which the scripts of these
names measure. The rest of both pages is kept; the tables stand between marks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from research import features_on_albums as features
from research._page import ROOT, put, write
from research.peers_on_albums import ALL, EASY, FILE, METHODS, read

MARK, README_MARK = "peers-on-albums", "peers"
KIN, ALONE, TUNED, RAW = "Kin", "all alone", "HAC, best threshold", "raw"
FIRST = (KIN, ALONE)  # the lines above all others
REGIMES = ("plain", "zipf", "few-large", "loners", "bursts")
UNEVEN = REGIMES[1:]
BEST = "the best default"
CONFIDENCE = 0.95
PUBLISHED = {"clinc150": (91.0, 68.5, 75.9), "banking77": (75.3, 43.3, 54.8)}  # NMI, ARI, accuracy

Row = dict[str, Any]
Place = tuple[str, str]  # set, regime


class Results:
    """The lines of a file by place and method; `order`: all methods, as they are listed."""

    def __init__(self, rows: Iterable[Row], order: Iterable[str] = (*FIRST, *METHODS)) -> None:
        self.rows, self.order = list(rows), list(dict.fromkeys(order))
        self.by_cell: dict[tuple[Place, str], list[Row]] = {}
        for row in self.rows:
            self.by_cell.setdefault(((row["set"], row["regime"]), row["method"]), []).append(row)

    def methods(self, oracle: bool, places: Iterable[Place]) -> list[str]:
        """Return the methods that are measured at any of the places."""
        wanted = set(places)
        there = {
            row["method"] for row in self.rows if row["oracle"] == oracle and (row["set"], row["regime"]) in wanted
        }
        return [name for name in self.order if name in there]

    def sets(self, regime: str) -> list[str]:
        """Return the sets that have the regime, sorted."""
        return sorted({row["set"] for row in self.rows if row["regime"] == regime and row["set"] != EASY})

    def places(self, regimes: Iterable[str]) -> list[Place]:
        """Return the sets with the regimes: all sets of the first, of the second, ..."""
        return [(name, regime) for regime in regimes for name in self.sets(regime)]

    def draws(self, place: Place, method: str, field: str = "score") -> dict[int, float]:
        """Return the score of each draw; empty where none is measured or the method failed."""
        return {row["draw"]: row[field] for row in self.by_cell.get((place, method), ()) if row["score"] is not None}

    def mean(self, places: Sequence[Place], method: str, field: str = "score") -> float:
        """Return the mean of the places, each the mean of its draws; nan where a place has none."""
        found = [list(self.draws(place, method, field).values()) for place in places]
        return float(np.mean([np.mean(scores) for scores in found])) if found and all(found) else float("nan")

    def cell(self, place: Place, method: str) -> str:
        """Return mean ± spread, or why there is none."""
        if scores := list(self.draws(place, method).values()):
            return f"{np.mean(scores):.1f}" + (f"&nbsp;±&nbsp;{np.std(scores):.1f}" if len(scores) > 1 else "")
        return "failed" if (place, method) in self.by_cell else "–"

    def ahead(self, places: Sequence[Place], method: str, other: str) -> list[float]:
        """Return for each draw that both have everywhere how far the method is ahead, on average over the places."""
        mine, others = ([self.draws(place, name) for place in places] for name in (method, other))
        common = set.intersection(*(set(found) for found in (*mine, *others))) if places else set()
        return [
            float(np.mean([a[draw] - b[draw] for a, b in zip(mine, others, strict=True)])) for draw in sorted(common)
        ]


def half_width(values: Sequence[float]) -> float:
    """Return how far the interval of the mean reaches to both sides, by Student's t; nan for a single value.

    >>> round(half_width([1.0, 2.0, 3.0]), 2)
    2.48
    """
    if len(values) < 2:
        return float("nan")
    quantile = student.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
    return float(quantile * np.std(values, ddof=1) / np.sqrt(len(values)))


def difference(values: Sequence[float]) -> str:
    """Return the mean difference ± half of its interval; bold where all of the interval is below zero.

    >>> difference([1.0, 2.0, 3.0]), difference([-2.0, -2.1]), difference([])
    ('+2.0 ±&nbsp;2.5', '**-2.0 ±&nbsp;0.6**', '–')
    """
    if not values:
        return "–"
    mean, width = float(np.mean(values)), half_width(values)
    text = f"{mean:+.1f}" + ("" if np.isnan(width) else f" ±&nbsp;{width:.1f}")
    return f"**{text}**" if mean + width < 0 else text


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown; all columns but the first are numbers.

    >>> print(table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    rows = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    return "\n".join([rows[0], "|---|" + "---:|" * (len(head) - 1), *rows[1:]])


def best(values: Iterable[float]) -> float:
    """Return the highest value as it is printed, nan without any."""
    return max((round(value, 1) for value in values if not np.isnan(value)), default=float("nan"))


def number(value: float, digits: int = 1) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def score_lines(
    results: Results, groups: Sequence[Sequence[Place]], names: Sequence[str], floor: str
) -> list[list[str]]:
    """Return a line for each method and a score for each group of places, its mean where there are several.

    Bold: the best of the column. ↓: below `floor`.
    """
    means = {name: [results.mean(group, name) for group in groups] for name in (*names, floor)}
    tops = [best(means[name][column] for name in names) for column in range(len(groups))]
    lines = []
    for name in names:
        texts = []
        for group, mean, top, least in zip(groups, means[name], tops, means[floor], strict=True):
            text = results.cell(group[0], name) if len(group) == 1 else number(mean)
            text = f"**{text}**" if round(mean, 1) == top else text
            texts.append(f"{text} ↓" if mean < least else text)
        lines.append([name, *texts])
    return lines


def named(results: Results, places: Sequence[Place], name: str) -> str:
    """Return the name of a method, with its number of draws where that of others is larger, and † for oracles."""
    if name == BEST:
        return name
    count = {name: max((len(results.draws(p, name)) for p in places), default=0) for name in results.order}
    mark = " †" if name in METHODS and METHODS[name].oracle else ""
    few = (
        "" if count[name] in (0, max(count.values())) else f" ({count[name]} {'draw' if count[name] == 1 else 'draws'})"
    )
    return f"{name}{mark}{few}"


def seconds(results: Results, places: Sequence[Place], name: str) -> str:
    return number(results.mean(places, name, "seconds"))


def scores_table(results: Results, heads: Sequence[str], groups: Sequence[Sequence[Place]]) -> str:
    """Return one table of scores, the oracles last, with the mean seconds of a cell."""
    places = list(dict.fromkeys(place for group in groups for place in group))
    lines = [
        line
        for oracle in (False, True)
        for line in score_lines(results, groups, results.methods(oracle, places), ALONE)
    ]
    return table(
        ["", *heads, "seconds"],
        ([named(results, places, line[0]), *line[1:], seconds(results, places, line[0])] for line in lines),
    )


def regime_table(results: Results, regime: str) -> str:
    """Return the scores of one regime on each set, and their mean."""
    places = results.places([regime])
    return scores_table(results, [*(name for name, _ in places), "mean"], [*([place] for place in places), places])


def means_table(results: Results) -> str:
    """Return the means of each regime over the sets, and that of all uneven cells."""
    groups = [results.places([regime]) for regime in REGIMES]
    uneven = results.places(UNEVEN)
    return scores_table(results, [*REGIMES, f"the {len(uneven)} uneven"], [*groups, uneven])


def differences(results: Results, places: Sequence[Place]) -> dict[str, list[list[float]]]:
    """Return for each other method how far Kin is ahead in each place, draw by draw; defaults first, then oracles.

    BEST: for each place the default with the highest mean.
    """
    defaults, oracles = (
        [name for name in results.methods(oracle, results.places(UNEVEN)) if name not in FIRST]
        for oracle in (False, True)
    )
    found = {name: [results.ahead([place], KIN, name) for place in places] for name in (*defaults, *oracles)}
    winners = [max(defaults, key=lambda name: np.nan_to_num(results.mean([place], name), nan=-1.0)) for place in places]
    ahead = [found[winner][index] for index, winner in enumerate(winners)]
    return {name: found[name] for name in defaults} | {BEST: ahead} | {name: found[name] for name in oracles}


def mean_difference(results: Results, places: Sequence[Place], name: str) -> str:
    """Return how far Kin is ahead of a method on average over the places; of BEST without an interval."""
    if name != BEST:
        return difference(results.ahead(places, KIN, name))
    found = differences(results, places)[BEST]
    return difference([float(np.mean([np.mean(values) for values in found]))] if found and all(found) else [])


def regime_ahead_table(results: Results, regime: str) -> str:
    """Return how far Kin is ahead of each other method on each set, and on average."""
    places = results.places([regime])
    lines = (
        [
            named(results, places, name),
            *(difference(values) for values in found),
            mean_difference(results, places, name),
        ]
        for name, found in differences(results, places).items()
    )
    return table(["Kin minus", *(name for name, _ in places), "mean"], lines)


def ahead_table(results: Results) -> str:
    """Return how far Kin is ahead of each other method in each regime, and in how many of the uneven cells."""
    places = results.places(UNEVEN)
    groups = [*(results.places([regime]) for regime in UNEVEN), places]
    lines = (
        [
            named(results, places, name),
            *(mean_difference(results, group, name) for group in groups),
            count(found, 1),
            count(found, -1),
        ]
        for name, found in differences(results, places).items()
    )
    return table(["Kin minus", *UNEVEN, f"the {len(places)} uneven", "ahead (surely)", "behind (surely)"], lines)


def count(column: Iterable[Sequence[float]], sign: int) -> str:
    """Return in how many cells the mean difference has the sign, and where its interval leaves zero out too.

    >>> count([[1.0, 1.1], [2.0, -1.0], [-3.0, -3.1], []], 1)
    '2 (1)'
    """
    found = [(sign * float(np.mean(values)), half_width(values)) for values in column if values]
    return f"{sum(mean > 0 for mean, _ in found)} ({sum(mean > width for mean, width in found)})"


def easy_table(results: Results) -> str:
    """Return the scores of the easy sets, a line for each."""
    places = list(dict.fromkeys((row["set"], row["regime"]) for row in results.rows if row["set"] == EASY))
    names = results.methods(False, places)
    lines = zip(*score_lines(results, [[place] for place in places], names, ALONE), strict=True)
    next(lines)  # the names
    return table(["", *names], ([place[1], *line] for place, line in zip(places, lines, strict=True)))


def intents_table(results: Results) -> str:
    """Return NMI, ARI and accuracy on all intents, with the published scores in the last line."""
    places = results.places([ALL])
    fields = ("nmi", "ari", "accuracy")
    lines = [
        [
            named(results, places, name),
            *(number(results.mean([p], name, field)) for p in places for field in fields),
            " / ".join(number(results.mean([p], name, "clusters"), 0) for p in places),
            seconds(results, places, name),
        ]
        for oracle in (False, True)
        for name in results.methods(oracle, places)
        if name != ALONE
    ]
    published = [number(value) for name, _ in places for value in PUBLISHED[name]]
    lines.append(["published, fine-tunes BERT ‡", *published, "", ""])
    heads = [f"{name} {field}" for name, _ in places for field in ("NMI", "ARI", "acc.")]
    return table(["", *heads, "clusters", "seconds"], lines)


def features_table(results: Results) -> str:
    """Return the mAP of each cell, with lines about all of them."""
    places = results.places(REGIMES)
    names = results.methods(False, places)
    groups = [*([place] for place in places), places]
    columns = list(zip(*score_lines(results, groups, names, RAW), strict=True))[1:]
    lines = [[f"{p[0]}, {p[1]}", *line] for p, line in zip(places, columns, strict=False)]
    lines.append([f"mean of the {len(places)}", *columns[-1]])
    below = [sum(results.mean([p], name) < results.mean([p], RAW) for p in places) for name in names]
    worst = [max((results.mean([p], RAW) - results.mean([p], name) for p in places), default=np.nan) for name in names]
    lines.append(["cells below raw", *(str(count) for count in below)])
    lines.append(["most below raw", *(number(max(value, 0.0)) for value in worst)])
    whole = results.places(REGIMES[:1])
    lines.append(["seconds, whole test parts", *(seconds(results, whole, name) for name in names)])
    return table(["", *(named(results, places, name) for name in names)], lines)


def made_with(results: Results) -> str:
    """Return a sentence with the versions that made the numbers."""
    parts = sorted({part for row in results.rows for part in row["version"].split(", ")})
    return f"{len(results.rows):,} cells, made with {', '.join(parts)}."


def section(rows: Sequence[Row], feature_rows: Sequence[Row]) -> str:
    """Return the section of the page, without its marks."""
    if not rows:
        return TEXT_EMPTY
    results = Results(rows)
    parts = [TEXT, "### Means over the four sets", means_table(results)]
    compared = KIN in results.methods(False, results.places(UNEVEN))
    if compared:
        parts += ["### Kin against each other method", TEXT_AHEAD, ahead_table(results)]
    for regime in (regime for regime in REGIMES if results.sets(regime)):
        parts += [f"### {regime}: {WHAT[regime]}", regime_table(results, regime)]
        if compared and regime in UNEVEN:
            parts.append(regime_ahead_table(results, regime))
    if any(row["set"] == EASY for row in rows):
        parts += ["### Easy sets", TEXT_EASY, easy_table(results)]
    if results.sets(ALL):
        parts += ["### All intents of two text sets", TEXT_INTENTS, intents_table(results)]
    parts.append(made_with(results))
    if feature_rows:
        found = Results(feature_rows, features.METHODS)
        parts += ["## Features beside features", TEXT_FEATURES, features_table(found), made_with(found)]
    return "\n\n".join(parts)


def summary(rows: Sequence[Row]) -> str:
    """Return the table of README.md: Kin, the best default of the others, HAC told the labels."""
    results = Results(rows)
    groups = [results.places([regime]) for regime in REGIMES]
    others = [name for name in METHODS if name not in FIRST and not METHODS[name].oracle]
    lines = [
        ["`Kin()`", *(number(results.mean(group, KIN)) for group in groups)],
        ["best default of the others", *(best_of(results, group, others) for group in groups)],
        ["HAC cut where the labels say †", *(number(results.mean(group, TUNED)) for group in groups)],
    ]
    return f"{table(['', *REGIMES], lines)}\n\n{TEXT_SUMMARY}"


def best_of(results: Results, places: Sequence[Place], names: Iterable[str]) -> str:
    """Return the highest mean, and whose it is."""
    means = {name: mean for name in names if not np.isnan(mean := results.mean(places, name))}
    winner = max(means, key=lambda name: means[name], default="")
    return f"{means[winner]:.1f} ({winner})" if winner else "–"


WHAT = {
    "plain": "the whole test parts",
    "zipf": "long tails",
    "few-large": "a few large classes among small ones",
    "loners": "three quarters of the classes with a single row",
    "bursts": "near-duplicates",
}
TEXT_EMPTY = "## Peers that need no labels\n\nNothing is measured yet: `python -m research.peers_on_albums`."
TEXT = """## Peers that need no labels, on data as people have them

(F_P + F_B) / 2 × 100 of the test parts, as they are (plain) and drawn unevenly (zipf, few-large, loners, bursts). Mean
± standard deviation over 10 draws, or over the number beside a name; a draw is the same for all methods. Each method
has its defaults and sees no labels; noise counts as alone. **Bold**: the best default of a column. ↓: worse than
leaving every row alone. Seconds: of the processor, one thread, mean of the cells of the table, compiling left out.

†: may do what a user cannot. It is told the true number of classes, or the test labels pick the best threshold,
resolution or k of a grid (seconds: of the whole grid). No default has to beat these; they show what is left to gain.
Bold among them: the best of them.

`python -m research.peers_on_albums` and `python -m research.features_on_albums` measure it again,
`python -m research.make_peers_page` writes these sections and the table of the README."""
TEXT_AHEAD = f"""Mean difference over the draws that both have ± half of its {CONFIDENCE:.0%} interval (paired by draw,
Student's t; none for a single draw). **Bold**: Kin is behind, and all of the interval is below zero. The best default:
in each cell the one with the highest mean. Ahead, behind: the number of cells, in brackets those where the interval
leaves zero out too. The cells stand below, regime by regime."""
TEXT_EASY = "Well separated Gaussian classes, number × size in dimensions; one draw. **Bold**: the best of a line."
TEXT_INTENTS = """All 150 intents of clinc150 and all 77 of banking77, both parts together. NMI, ARI and accuracy × 100
(accuracy: each intent with one cluster, the best such matching). The number of clusters is told to no method without †;
noise counts as alone. ‡: a published method without labels that trains a BERT on the sentences themselves, its scores
as published; the features here are those of a sentence encoder that is not trained further."""
TEXT_FEATURES = """mAP × 100, each of 3,000 rows against all others of the test part, no labels used. The methods have
their published settings: k-reciprocal 20 / 6 / 0.3, ECN 25 / 3 / 8, alpha query expansion of queries and gallery with
10 nearest and alpha 3, GCR exp(cos / 0.2), 15 nearest, three rounds. Training-free: `GraphEnhancer(pretrained=False)`;
label-free: `GraphEnhancer()`. Mean ± standard deviation over draws. **Bold**: the best of a line. ↓: below raw."""
TEXT_SUMMARY = """Data as people have them: (F_P + F_B) / 2 × 100, means over four real sets of texts, drawings and
persons. plain: the test parts; zipf: long tails; few-large: a few large classes among small ones; loners: three
quarters of the classes have one row; bursts: near-duplicates; up to 10 draws each. Nothing is set by hand but for †,
whose threshold the test labels pick (3 draws). [All peers, sets, intervals and times](docs/peers.md)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=FILE, help="the measured lines of clusterers")
    parser.add_argument("--features", type=Path, default=features.FILE, help="the measured lines of features")
    parser.add_argument("--into", type=Path, default=ROOT, help="the folder with README.md and docs/peers.md")
    options = parser.parse_args()
    rows = read(options.results)
    fill(options.into / "docs" / "peers.md", MARK, section(rows, read(options.features)))
    fill(options.into / "README.md", README_MARK, summary(rows))


def fill(path: Path, mark: str, text: str) -> None:
    write(path, put(path.read_text(encoding="utf-8"), mark, text))


if __name__ == "__main__":
    main()
