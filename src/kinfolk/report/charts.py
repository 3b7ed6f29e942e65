"""Charts of a result as figures: lines, histograms and maps, three panels a row, one colour a method."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, product
from typing import Any, Literal, NamedTuple

import numpy as np
from markupsafe import escape
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from kinfolk.experiments.results import Chart, Histogram, Line, Lines, Map, Panel
from kinfolk.report.figures import COLORS, GRID, PAPER, labelled_map, to_svg

INK = "#1c2330"
PANELS_PER_ROW = 3
PANEL_INCHES = {1: (4.6, 3.3), 2: (4.5, 3.3), 3: (3.75, 3.2)}  # width and height, by panels a row: a page is 12 wide
Dash = Literal["-", "-.", ":"]
DASHES: tuple[Dash, ...] = ("-", "-.", ":")  # "--" is kept for the numbers of the paper
MARKERS = ("o", "^", "s", "D")
FEW_POINTS = 20  # a line of at most so many points has markers
FEW_TICKS = 8  # an axis of at most so many values has a tick at each
MANY_DOTS = 1500  # above it a map is a bitmap inside the SVG, which keeps the page small
LETTERS_PER_INCH = 13  # of the legend's font
CORNERS = ((0.40, 0.12), (0.08, 0.50), (0.40, 0.50), (0.08, 0.12))  # lower left of an inset, best first
INSET = (0.56, 0.44)  # width and height, as shares of the panel
# the same in every chart of a report
METHOD_COLORS = {
    "band": COLORS[0],
    "GCN": COLORS[1],
    "quartet": COLORS[2],
    "self": COLORS[4],
    "raw": PAPER,
    "same class": COLORS[2],
    "different classes": COLORS[1],
}
# the colours that follow the page, light or dark
THEME = {INK: "var(--ink)", GRID: "var(--line)", "#ffffff": "var(--paper)", COLORS[0].lower(): "var(--kin)"}
# a dollar in the name of a set is a dollar, no mathematics
RC_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "font.size": 9.5,
}


class LineStyle(NamedTuple):
    """Colour and dash pattern of one method, in all panels of a chart."""

    color: str
    dash: Dash


def draw_chart(chart: Chart, columns: int = PANELS_PER_ROW) -> Figure:
    """Draw the panels, three a row, with one legend below for all of them.

    >>> line = Line(label="band", x=(10.0, 20.0), y=(80.0, 82.0), spread=(0.5, 0.4))
    >>> panel = Lines(title="digits", xlabel="k", ylabel="mAP", lines=(line,), log_x=True)
    >>> len(draw_chart(Chart(name="figure4", title="", text="", panels=(panel,) * 4)).axes)
    4
    """
    columns = min(len(chart.panels), columns)
    rows = -(-len(chart.panels) // columns)
    width, height = PANEL_INCHES[columns]
    styles = _line_styles(chart.panels)
    with rc_context(RC_SETTINGS):
        figure = Figure(
            figsize=(width * columns, height * rows + 0.3), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
        )
        axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        for ax, panel in zip(axes, chart.panels, strict=False):
            ax.set_title(_wrapped(panel.title, width), fontsize=11)
            _draw_panel(ax, panel, styles)
        for ax in axes[len(chart.panels) :]:
            ax.remove()
        _legend(figure, chart.panels, styles, width * columns)
    return figure


def chart_svg(chart: Chart, columns: int = PANELS_PER_ROW) -> str:
    """Return the chart as an SVG element in the colours of its page, light or dark."""
    svg = to_svg(draw_chart(chart, columns), tight=False)
    for color, variable in THEME.items():
        svg = svg.replace(color, variable)
    # a page has several charts, and matplotlib calls the parts of each figure_1, axes_1, ...
    own = f"{re.sub(r'[^a-z0-9]', '-', chart.name.lower())}-{columns}"
    svg = re.sub(r'(\bid="|"#|url\(#)', rf"\g<1>{own}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(chart.title)}" ', 1)


def _draw_panel(ax: Axes, panel: Panel, styles: Mapping[str, LineStyle]) -> None:
    if isinstance(panel, Map):
        _draw_map(ax, panel)
        return
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=INK, labelsize=8.5)
    ax.set_xlabel(panel.xlabel)
    if isinstance(panel, Lines):
        _draw_lines(ax, panel, styles)
    else:
        _draw_histogram(ax, panel, styles)


def _draw_lines(ax: Axes, panel: Lines, styles: Mapping[str, LineStyle]) -> None:
    ax.set_ylabel(panel.ylabel)
    for line in panel.lines:
        _draw_line(ax, line, styles[_method(line)])
    _scale(ax, "x", panel.log_x, [x for line in panel.lines for x in line.x])
    _scale(ax, "y", panel.log_y, [y for line in panel.lines for y in line.y])
    if panel.zoom is not None:
        _draw_zoom(ax, panel, panel.zoom, styles)


def _draw_line(ax: Axes, line: Line, style: LineStyle) -> None:
    few = len(line.x) <= FEW_POINTS
    if line.paper:
        (drawn,) = ax.plot(line.x, line.y, "--", color=style.color, linewidth=1.3, alpha=0.75)
        drawn.set(marker="s" if few else "", markersize=4, markerfacecolor="none")
        return
    ax.plot(line.x, line.y, style.dash, color=style.color, linewidth=1.9, marker="o" if few else "", markersize=4)
    if line.spread is not None:
        y, spread = np.array(line.y), np.array(line.spread)
        ax.fill_between(line.x, y - spread, y + spread, color=style.color, alpha=0.18, linewidth=0)


def _draw_zoom(
    ax: Axes, panel: Lines, zoom: tuple[float, float, float, float], styles: Mapping[str, LineStyle]
) -> None:
    """Draw a corner again in that corner of the panel where the fewest points are hidden."""
    points = np.concatenate([np.column_stack([line.x, line.y]) for line in panel.lines] or [np.zeros((0, 2))])
    with np.errstate(divide="ignore", invalid="ignore"):
        places = ax.transAxes.inverted().transform(ax.transData.transform(points))
    inset = ax.inset_axes((*min(CORNERS, key=lambda corner: _hidden(places, corner)), *INSET))
    for line in panel.lines:
        _draw_line(inset, line, styles[_method(line)])
    inset.set(xlim=zoom[:2], ylim=zoom[2:])
    inset.tick_params(colors=INK, labelsize=7, length=2)
    inset.grid(color=GRID, linewidth=0.6)
    inset.set_axisbelow(True)
    ax.indicate_inset_zoom(inset, edgecolor=PAPER, alpha=0.6)


def _hidden(places: NDArray[np.float64], corner: tuple[float, float]) -> int:
    low, high = np.array(corner) - 0.06, np.array(corner) + INSET
    return int(((places > low) & (places < high)).all(axis=1).sum())


def _draw_histogram(ax: Axes, panel: Histogram, styles: Mapping[str, LineStyle]) -> None:
    for label, counts in panel.counts.items():
        color = styles[label].color
        ax.stairs(counts, panel.edges, fill=True, color=color, alpha=0.45)
        ax.stairs(counts, panel.edges, color=color, linewidth=1.2)
    ax.set_ylabel("count")
    _scale(ax, "x", panel.log_x, panel.edges)
    _scale(ax, "y", panel.log_y, [count for counts in panel.counts.values() for count in counts])
    if panel.mark is not None:
        ax.margins(y=0.15)
        ax.axvline(panel.mark, color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
        right = ax.transAxes.inverted().transform(ax.transData.transform((panel.mark, 1)))[0] > 0.5
        place = dict(xytext=(-4 if right else 4, -2), textcoords="offset points", ha="right" if right else "left")
        ax.annotate(panel.mark_label, (panel.mark, 1), xycoords=("data", "axes fraction"), va="top", **place)  # type: ignore[arg-type]


def _draw_map(ax: Axes, panel: Map) -> None:
    points, labels = np.column_stack([panel.x, panel.y]), np.array(panel.labels)
    classes = np.unique(labels)
    if len(classes) <= len(COLORS):
        labelled_map(ax, points, labels)
    else:
        styles = dict(zip(classes, cycle(product(MARKERS, COLORS)), strict=False))
        for marker, color in dict.fromkeys(styles.values()):
            x, y = points[[styles[label] == (marker, color) for label in labels]].T
            ax.scatter(x, y, s=11, marker=marker, color=color, linewidths=0, alpha=0.75)
        ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color(GRID)
    for dots in ax.collections:
        dots.set_rasterized(len(points) > MANY_DOTS)


def _scale(ax: Axes, which: Literal["x", "y"], log: bool, values: Sequence[float]) -> None:
    """Make an axis logarithmic, with plain numbers at its ticks: at the values themselves where they are few."""
    if not log or not any(value > 0 for value in values):
        return
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_formatter(FuncFormatter(_plain))
    different = sorted({value for value in values if value > 0})
    if which == "x" and len(different) <= FEW_TICKS:
        axis.set_ticks(different)
        axis.set_ticks([], minor=True)
    elif different[-1] >= 10 * different[0]:
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_minor_formatter(FuncFormatter(_plain))


def _plain(value: float, _: int | None = None) -> str:
    """Return a number for a tick.

    >>> _plain(0.001), _plain(160.0), _plain(1e-6), _plain(1e6)
    ('0.001', '160', '1e-6', '1e6')
    """
    return re.sub(r"e([-+])0*", lambda found: "e-" if found[1] == "-" else "e", f"{value:g}")


def _method(line: Line) -> str:
    """Return the method of a line: the paper's has the colour of ours.

    >>> [_method(Line(label=label, x=(), y=(), paper=True)) for label in ("band, the paper", "the paper, msmt17")]
    ['band', 'the paper, msmt17']
    """
    return re.sub(r",? ?\(?(the )?paper\)?$", "", line.label) or line.label if line.paper else line.label


def _line_styles(panels: Sequence[Panel]) -> dict[str, LineStyle]:
    names = dict.fromkeys(name for panel in panels for name in _names(panel))
    known = {name: LineStyle(METHOD_COLORS[name], "-") for name in names if name in METHOD_COLORS}
    free = (
        style
        for dash, color in cycle(product(DASHES, COLORS))
        if (style := LineStyle(color, dash)) not in known.values()
    )
    return {name: known[name] if name in known else next(free) for name in names}


def _names(panel: Panel) -> Iterable[str]:
    if isinstance(panel, Lines):
        return [_method(line) for line in panel.lines]
    return panel.counts if isinstance(panel, Histogram) else ()


def _legend(figure: Figure, panels: Sequence[Panel], styles: Mapping[str, LineStyle], inches: float) -> None:
    drawn = [line for panel in panels if isinstance(panel, Lines) for line in panel.lines]
    measured = {line.label for line in drawn if not line.paper}
    handles: dict[str, Any] = {}
    for name, style in styles.items():
        if not any(name == _method(line) for line in drawn):
            handles[name] = Patch(color=style.color, alpha=0.6)
        elif name in measured:
            handles[name] = Line2D([], [], color=style.color, linestyle=style.dash, linewidth=2)
        else:
            label = name if "paper" in name else f"{name}, the paper"
            handles[label] = Line2D([], [], color=style.color, linestyle="--")
    if any(line.paper and _method(line) in measured for line in drawn):
        handles["the paper"] = Line2D([], [], color=PAPER, linestyle="--")
    if handles:
        columns = int(inches * LETTERS_PER_INCH / (max(map(len, handles)) + 7))
        figure.legend(
            handles.values(),
            [_shown(name) for name in handles],
            loc="outside lower center",
            frameon=False,
            ncols=max(1, min(columns, len(handles))),
        )


def _wrapped(title: str, inches: float) -> str:
    """Return a title in lines that fit above a panel: it is set larger than the legend, and an equation stays whole."""
    whole = title.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return textwrap.fill(whole, int((inches - 0.8) * LETTERS_PER_INCH * 0.85))


def _shown(name: str) -> str:
    # matplotlib hides what begins with an underscore
    return f" {name}" if name.startswith("_") else name
