"""Figures of the report and of the docs. Each takes plain numbers and gives a matplotlib figure."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
from kinfolk.metrics import Roc

# the Okabe-Ito palette: distinguishable with every kind of colour vision
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
PAPER = "#8a8f98"  # of the paper's lines and of everything that steps back
GRID = "#e8ebf0"
FIGURE_SUFFIXES = (".svg", ".png", ".pdf")
COSINES = (0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0, -0.3, -0.6)


def to_svg(figure: Figure, tight: bool = True) -> str:
    """Return the picture as an SVG element for an HTML page; the same figure always gives the same text.

    tight: cut off empty margins, which takes half as long again.
    """
    text = io.StringIO()
    with rc_context({"svg.hashsalt": "kinfolk", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", bbox_inches="tight" if tight else None, metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def save_figure(figure: Figure, path: str | os.PathLike[str], force: bool = False) -> Path:
    """Write the picture to an .svg, .png or .pdf and return where it is; the same figure always gives the same file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), f"{folder}/empty.pdf").read_bytes()[:4]
    b'%PDF'
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in FIGURE_SUFFIXES:
        raise InputError(f"{file}: a figure is written as {', '.join(FIGURE_SUFFIXES)}")
    with replacing(file, force) as temporary:
        if suffix == ".svg":
            temporary.write_text(to_svg(figure), encoding="utf-8")
        else:
            # 42: whole fonts, which journals ask for, and text that can be searched
            with rc_context({"pdf.fonttype": 42}):
                dates = {"CreationDate": None} if suffix == ".pdf" else {}
                figure.savefig(temporary, dpi=150, bbox_inches="tight", metadata=dates)
    return file


def panels(count: int, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` plain panels side by side."""
    figure = Figure(figsize=(5.2 * count, height), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, count)))
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, axes


def roc_curves(curves: Mapping[str, Mapping[str, Roc]]) -> Figure:
    """Draw ROC curves, a panel for each data set, a line for each similarity; few false positives get the room."""
    figure, axes = panels(len(curves))
    for ax, (title, lines) in zip(axes, curves.items(), strict=True):
        for color, (name, curve) in zip(COLORS, lines.items(), strict=False):
            ax.plot(curve.fpr, curve.tpr, color=color, label=name, linewidth=2)
        ax.set(title=title, xscale="log", xlim=(1e-3, 1), ylim=(0, 1.02))
        ax.set(xlabel="noisy edges kept (false positive rate)", ylabel="true edges kept")
        ax.legend(frameon=False, loc="lower right")
    return figure


def similarity_histograms(
    scores: Mapping[str, tuple[NDArray[np.float32], NDArray[np.bool_]]],
) -> Figure:
    """Draw how each score is distributed over true and over noisy edges: {title: (scores, same class)}."""
    figure, axes = panels(len(scores), height=3.0)
    for ax, (title, (values, same)) in zip(axes, scores.items(), strict=True):
        _hills(ax, values, same)
        ax.set(title=title, xlabel="score of an edge")
        ax.legend(frameon=False)
    return figure


def before_and_after(
    maps: Mapping[str, NDArray[np.float64]],
    labels: NDArray[np.int64],
    similarities: Sequence[NDArray[np.float32]],
    same: NDArray[np.bool_],
) -> Figure:
    """Draw versions of the same features side by side: a map of some rows, and the cosines of neighbour pairs below.

    maps: {title: (m, 2)} with the labels (m,) of its rows; similarities: one (n, k) a map; same (n, k): same class.
    """
    figure = Figure(figsize=(10.4, 6.2), layout=ConstrainedLayoutEngine(w_pad=0.12))
    rows = figure.subplots(2, len(maps), height_ratios=(1.8, 1), squeeze=False)
    for ax, (title, points) in zip(rows[0], maps.items(), strict=True):
        labelled_map(ax, points, labels)
        ax.set_title(title, fontsize=13)
    for ax, values in zip(rows[1], similarities, strict=True):
        _hills(ax, -np.arccos(values.clip(-1, 1)), same)
        shown = _apart(float(values.min()))
        ax.set_xticks(-np.arccos(shown), [f"{cosine:g}" for cosine in shown])
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlabel("cosine of two neighbours")
    figure.legend(*rows[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def labelled_map(ax: Axes, points: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Draw points (m, 2) in the colour of their class, with its name above the middle of each class."""
    classes = dict(zip(np.unique(labels), cycle(COLORS), strict=False))
    for label, color in classes.items():
        x, y = points[labels == label].T
        ax.scatter(x, y, s=12, color=color, linewidths=0, alpha=0.7)
    for label, color in classes.items():
        middle = np.median(points[labels == label], axis=0)
        name = ax.annotate(str(label), middle, (0, 6), textcoords="offset points", ha="center", color=color)
        name.set(fontsize=13, fontweight="bold", path_effects=[withStroke(linewidth=3.5, foreground="white")])
    ax.margins(0.08, 0.12)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color("#d5dae2")


def _apart(lowest: float) -> list[float]:
    """Return cosines from 1 down to the lowest whose angles are far enough apart to be written side by side."""
    shown: list[float] = [1]
    for cosine in COSINES:
        if cosine >= lowest and np.arccos(cosine) - np.arccos(shown[-1]) > np.arccos(lowest) / 9:
            shown.append(cosine)
    return shown


def _hills(ax: Axes, values: NDArray[np.float32], same: NDArray[np.bool_]) -> None:
    bins = np.linspace(values.min(), values.max(), 80).tolist()
    for color, name, mask in ((COLORS[2], "same class", same), (COLORS[1], "different classes", ~same)):
        ax.hist(values[mask], bins, density=True, histtype="stepfilled", color=color, alpha=0.55, label=name)
    # square roots keep a tall narrow hill from flattening a wide one
    ax.set_yscale("function", functions=(np.sqrt, np.square))
    ax.set(yticks=[])


def errors_over_tests(rows: Sequence[Mapping[str, float]], needed: int) -> Figure:
    """Draw the error edges of a node over the number of tests: one test, and many by bound, exactly and drawn."""
    figure, (ax,) = panels(1)
    m = [row["m"] for row in rows]
    styles = {"one_test": ("one test", "-"), "bound": ("many, Chernoff bound", "--")}
    styles |= {"exact": ("many, exact", "-"), "drawn": ("many, drawn", "o")}
    for color, (name, (label, style)) in zip(COLORS, styles.items(), strict=False):
        ax.plot(m, [max(row[name], 1e-4) for row in rows], style, color=color, label=label, markersize=4)
    ax.axvline(needed, color=PAPER, linewidth=1, linestyle=":")
    ax.set(xscale="log", yscale="log", xlabel="tests m (common candidates)", ylabel="error edges of a node")
    ax.legend(frameon=False, fontsize=8)
    return figure
