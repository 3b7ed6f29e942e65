"""Write what was measured about Kin into docs/kin.md: python -m research.make_kin_page [--page FILE].

All numbers come from research/results/kin.jsonl, which research/kin_study.py measures. Only the marked places of the
page change, and the figures images/kin-*.svg beside it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kinfolk.report.figures import COLORS, GRID, PAPER, to_svg
from research._page import DOCS, put, write
from research.kin_study import BINS, FILE
from research.make_peers_page import table
from research.peers_on_albums import read

LEAST_ROWS = 30  # of a bin: of fewer a share says little
PROMISED = 0.1  # how far a bin may be from the truth
MARKERS = "osD^vP"
NOTHING = "Nothing is measured yet: `python -m research.kin_study`."

Row = Mapping[str, Any]


class Bins:
    """Rows in ten bins of their probability, over one or many draws.

    Shapes: rows, probability, right (10,): how many, the sum of their probabilities, and how many are right.
    """

    def __init__(self, lines: Sequence[Row]) -> None:
        self.rows, self.probability, self.right = (
            np.sum([line[name] for line in lines], axis=0) for name in ("rows", "probability", "right")
        )
        self.there = self.rows >= LEAST_ROWS

    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean probability and the share that is right of each bin with enough rows."""
        return tuple(column[self.there] / self.rows[self.there] for column in (self.probability, self.right))  # type: ignore[return-value]

    def off(self) -> NDArray[np.float64]:
        """Return for each such bin how much more is right than was said."""
        said, true = self.means()
        return true - said

    def worst(self) -> tuple[float, str, int]:
        """Return the largest deviation, the bin where it is, and the rows of that bin."""
        place = int(np.argmax(np.abs(self.off())))
        bin_ = int(np.flatnonzero(self.there)[place])
        return float(self.off()[place]), bin_name(bin_), int(self.rows[bin_])


def bin_name(number: int) -> str:
    """Return the limits of a bin.

    >>> bin_name(7)
    '0.7 to 0.8'
    """
    return f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}"


def of_kind(rows: Iterable[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["kind"] == kind]


def by_place(lines: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the lines of each set and regime, all draws together."""
    found: dict[tuple[str, str], list[Row]] = {}
    for line in sorted(lines, key=lambda line: line["set"]):
        found.setdefault((line["set"], line["regime"]), []).append(line)
    return found


def calibration_text(lines: Sequence[Row]) -> str:
    """Return the tables of how far probabilities can be trusted."""
    if not lines:
        return NOTHING
    pooled, places = Bins(lines), by_place(lines)
    off, where, count = pooled.worst()
    cells = {place: Bins(found) for place, found in places.items()}
    kept = [place for place, bins in cells.items() if abs(bins.worst()[0]) <= PROMISED]
    gaps = [np.mean([line["expected_purity"] - line["purity"] for line in found]) for found in places.values()]
    left_out = int(sum(bins.rows[~bins.there].sum() for bins in cells.values()))
    said = (
        f"All {len(places)} cells together, {int(pooled.rows.sum()):,} rows: no bin is further than {abs(off):.2f} "
        f"from the truth ({where}, {count:,} rows). Cell by cell the largest deviation is at most {PROMISED} in "
        f"{len(kept)} of {len(places)}{failures(cells)}. The purity expected is off by {np.mean(np.abs(gaps)):.3f} on "
        f"average and by {np.max(np.abs(gaps)):.3f} at most. Bins of fewer than {LEAST_ROWS} rows are left out: "
        f"{left_out:,} rows of all cells."
    )
    return "\n\n".join([said, bins_table(pooled), cells_table(places), FIGURE_TEXT])


def failures(cells: Mapping[tuple[str, str], Bins]) -> str:
    """Name the cells that fail, the worst first."""
    worst = sorted(((abs(bins.worst()[0]), *place) for place, bins in cells.items()), reverse=True)
    failed = [f"{name}, {regime} ({off:.2f})" for off, name, regime in worst if off > PROMISED]
    return f"; it fails on {'; '.join(failed)}" if failed else ""


def bins_table(bins: Bins) -> str:
    lines = []
    for number in range(BINS):
        rows = int(bins.rows[number])
        sums = (bins.probability[number], bins.right[number])
        lines.append([bin_name(number), f"{rows:,}", *(f"{s / rows:.3f}" if bins.there[number] else "–" for s in sums)])
    return table(["`probabilities_`", "rows", "mean", "of the class of their cluster"], lines)


def cells_table(places: Mapping[tuple[str, str], Sequence[Row]]) -> str:
    lines = []
    for (name, regime), found in places.items():
        off, where, count = Bins(found).worst()
        expected, purity, alone = (
            f"{np.mean([line[fact] for line in found]):.3f}" for fact in ("expected_purity", "purity", "alone")
        )
        lines.append([f"{name}, {regime}", expected, purity, f"{off:+.3f}", where, f"{count:,}", alone])
    head = ["", "purity expected", "purity", "largest deviation", "in bin", "its rows", "share alone"]
    return table(head, lines)


def reliability(lines: Sequence[Row]) -> Figure:
    """Draw the share that is right over the probability, a panel for each set and a line for each regime."""
    sets = sorted({line["set"] for line in lines})
    figure, axes = grid(len(sets))
    for ax, name in zip(axes, sets, strict=False):
        ax.plot([0, 1], [0, 1], color=PAPER, linewidth=1)
        ax.fill_between([0, 1], [-PROMISED, 1 - PROMISED], [PROMISED, 1 + PROMISED], color=PAPER, alpha=0.12, lw=0)
        found = by_place([line for line in lines if line["set"] == name])
        for (_, regime), color, marker in zip(found, COLORS, MARKERS, strict=False):
            ax.plot(*Bins(found[name, regime]).means(), f"{marker}-", color=color, label=regime, markersize=4)
        ax.set(title=name, xlabel="probability", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def corrections_text(lines: Sequence[Row]) -> str:
    """Return the table of what answers change."""
    if not lines:
        return NOTHING
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for line in lines:
        groups.setdefault((line["set"], line["regime"], line["order"]), []).append(line)
    counts = sorted({line["answers"] for line in lines})
    rows = []
    for (name, regime, order), found in groups.items():
        before = mean(found, "before")
        cells = [f"{before:.1f}"]
        for count in counts:
            asked = [line for line in found if line["answers"] == count]
            cells.append(f"{mean(asked, 'score'):.1f} ({mean(asked, 'alone'):.1f})" if asked else "–")
        last = [line for line in found if line["answers"] == max(line["answers"] for line in found)]
        cells.append(f"{mean(last, 'rest') - mean(last, 'rest_before'):+.1f}")
        rows.append([f"{name}, {regime}: {order}", *cells])
    return "\n\n".join([table(["", "0", *map(str, counts), "the others"], rows), followed(lines), CORRECTIONS_FIGURE])


def followed(lines: Sequence[Row]) -> str:
    """Say for each order how much more a fit gains than the answered rows alone, and what the other rows gain."""
    parts = []
    for order in dict.fromkeys(line["order"] for line in lines):
        most = max(line["answers"] for line in lines if line["order"] == order)
        last = [line for line in lines if line["order"] == order and line["answers"] == most]
        gain, alone = (mean(last, name) - mean(last, "before") for name in ("score", "alone"))
        rest = mean(last, "rest") - mean(last, "rest_before")
        parts.append(f"{order} {gain:+.1f}, of which {alone:+.1f} by the asked rows alone (the others {rest:+.1f})")
    return f"Change of F after all answers, on average: {'; '.join(parts)}."


def mean(lines: Sequence[Row], name: str) -> float:
    return float(np.mean([line[name] for line in lines]))


def answers_figure(lines: Sequence[Row]) -> Figure:
    """Draw F over the number of answers, a panel for each set, a line for each order; dashed: the asked rows alone."""
    places = by_place(lines)
    figure, axes = grid(len(places), columns=3)
    for ax, (place, found) in zip(axes, places.items(), strict=False):
        orders = dict.fromkeys(line["order"] for line in found)
        for order, color, marker in zip(orders, COLORS, MARKERS, strict=False):
            asked: dict[int, list[Row]] = {}
            for line in found:
                if line["order"] == order:
                    asked.setdefault(line["answers"], []).append(line)
            x = [0, *asked]
            for fact, style, label in (("score", f"{marker}-", order), ("alone", "--", None)):
                y = [mean(found, "before"), *(mean(each, fact) for each in asked.values())]
                ax.plot(x, y, style, color=color, label=label, markersize=4)
        ax.set(title=", ".join(place), xlabel="answers", ylabel="(F_P + F_B) / 2 × 100")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def grid(count: int, columns: int = 2) -> tuple[Figure, list[Axes]]:
    """Return a figure with that many panels, a few in each row."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.2 * columns, 3.6 * rows), layout="constrained")
    axes = list(np.ravel(figure.subplots(rows, columns)))
    for ax in axes[:count]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color=GRID, linewidth=0.8)
    for ax in axes[count:]:
        ax.axis("off")
    return figure, axes[:count]


FIGURE_TEXT = """![How often rows are right, over their probability](images/kin-reliability.svg)

The grey band is 0.1 to either side."""
CORRECTIONS_FIGURE = """![F over the number of answers](images/kin-corrections.svg)

Dashed: the clusters without answers, in which only the asked rows have moved."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=FILE, help="the measured lines")
    parser.add_argument("--page", type=Path, default=DOCS / "kin.md", help="the page; images/ beside it")
    options = parser.parse_args()
    rows = read(options.results)
    calibration, corrections = of_kind(rows, "calibration"), of_kind(rows, "corrections")
    page = options.page.read_text(encoding="utf-8")
    page = put(page, "calibration", calibration_text(calibration))
    page = put(page, "corrections", corrections_text(corrections))
    images = options.page.parent / "images"
    if calibration:
        write(images / "kin-reliability.svg", to_svg(reliability(calibration)))
    if corrections:
        write(images / "kin-corrections.svg", to_svg(answers_figure(corrections)))
    write(options.page, page)


if __name__ == "__main__":
    main()
