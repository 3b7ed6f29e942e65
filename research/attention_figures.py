"""Figures of the attention study: mAP over k, and over the noise that comes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kinfolk.report.figures import COLORS, PAPER
from research.attention_study import ORDER, RAW, UNLABELLED_METHODS, MeasuredCells, recipe_method

# one colour a form in all figures: band stands out
LINE_STYLES = {
    "raw": (PAPER, "", "--"),
    "GCN": (COLORS[1], "s", "-"),
    "self": (COLORS[4], "^", "-"),
    "quartet": (COLORS[2], "D", "-"),
    "band": (COLORS[0], "o", "-"),
}


@dataclass
class OverKPanel:
    """Lines over k: {method: {k: mAP}}, the noise of the graph at each k, and what k="auto" gave: (k, mAP)."""

    title: str
    lines: Mapping[str, Mapping[int, float]]
    enr: Mapping[int, float]
    default: tuple[int, float] | None = field(default=None)


def over_k_panels(found: MeasuredCells) -> list[OverKPanel]:
    """Return a panel for each set of the section "over-k".

    >>> over_k_panels([])
    []
    """
    panels = []
    for data in dict.fromkeys(cell.data for cell, _ in found):
        here = [(cell, row) for cell, row in found if cell.data == data]
        default = [(row.k, row.map) for cell, row in here if cell.k == "auto" and row.k is not None]
        fixed = [(cell, row) for cell, row in here if cell.k != "auto"]
        lines = {method.name: _line(fixed, method.name) for method in (RAW, *UNLABELLED_METHODS)}
        panels.append(OverKPanel(data, lines, _noise(here), default[0] if default else None))
    return panels


def noise_panels(found: MeasuredCells) -> list[OverKPanel]:
    """Return a panel for each regime of the section "noise".

    >>> noise_panels([])
    []
    """
    panels = []
    for data in dict.fromkeys(cell.data for cell, _ in found):
        here = [(cell, row) for cell, row in found if cell.data == data]
        lines = {name: _line(here, recipe_method(name, "fast")) for name in ORDER}
        panels.append(OverKPanel(data, lines, _noise(here)))
    return panels


def draw(panels: Sequence[OverKPanel], columns: int) -> Figure:
    """Draw the panels, a tick for each k with the noise of its graph (ENR) below, and one legend for all.

    >>> panel = OverKPanel("digits", {"raw": {5: 66.0, 10: 66.0}, "band": {5: 75.0, 10: 80.0}}, {5: 0.02, 10: 0.03})
    >>> len(draw([panel], columns=1).axes)
    1
    """
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.7 * columns, 3.1 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax, panel in zip(axes, panels, strict=False):
        _draw_panel(ax, panel)
    empty = axes[len(panels) :]
    for ax in empty:
        ax.set_axis_off()
    for ax in axes[::columns]:
        ax.set_ylabel("mAP × 100")
    labels = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if empty:
        empty[0].legend(labels.values(), labels.keys(), frameon=False, loc="center", fontsize=11)
    else:
        figure.legend(labels.values(), labels.keys(), frameon=False, loc="outside lower center", ncols=len(labels))
    return figure


def _draw_panel(ax: Axes, panel: OverKPanel) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#e8ebf0", linewidth=0.8)
    ax.set_axisbelow(True)
    for name, line in panel.lines.items():
        color, marker, style = LINE_STYLES[name]
        ks = sorted(line)
        values = [line[k] for k in ks]
        ax.plot(ks, values, style, marker=marker, color=color, label=name, markersize=4, linewidth=1.8)
    if panel.default is not None:
        ax.plot(*panel.default, "*", color=COLORS[0], markersize=13, label='band, k = "auto"', markeredgecolor="white")
    ks = sorted(panel.enr)
    ax.set_xscale("log")
    ax.set_xticks(ks, [f"{k}\n{panel.enr[k]:.2f}".replace("0.", ".") for k in ks], fontsize=7.5)
    ax.minorticks_off()
    ax.set_title(panel.title, fontsize=11)
    ax.set_xlabel("neighbours k, and below it the ENR", fontsize=9)


def _line(found: MeasuredCells, method: str) -> dict[int, float]:
    """Return {k: mean mAP over the seeds}."""
    scores: dict[int, list[float]] = {}
    for cell, row in found:
        if cell.method == method and row.k is not None:
            scores.setdefault(row.k, []).append(row.map)
    return {k: sum(values) / len(values) for k, values in scores.items()}


def _noise(found: MeasuredCells) -> dict[int, float]:
    return {row.k: row.enr for _, row in found if row.k is not None and row.enr is not None}
