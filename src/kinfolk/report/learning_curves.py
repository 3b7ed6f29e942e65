"""How the loss fell and the score rose: a figure of a training log."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.report.figures import COLORS, panels, save_figure


def learning_curves(rows: Sequence[Mapping[str, Any]], path: str | os.PathLike[str], force: bool = False) -> Path:
    """Draw the rows of a TrainingLog (stage, step, loss, score) to an .svg, .png or .pdf and return where it is.

    A line for each stage: the loss, faint, under its mean over the last steps, and the validation score where there is
    one, with a ring around the best.

    >>> import tempfile
    >>> rows = [dict(stage="encoder", step=s, loss=1 / s, score=None if s % 5 else s / 10) for s in range(1, 11)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learning_curves(rows, f"{folder}/curves.svg").read_text()[:4]
    '<svg'
    """
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        stages.setdefault(row["stage"], []).append(row)
    if not stages:
        raise InputError("there are no learning curves to draw: the training log is empty")
    return save_figure(_draw(stages), path, force)


def running_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return the mean of each value and the up to window - 1 before it: (n,) -> (n,).

    >>> running_mean(np.array([1.0, 3.0, 5.0]), 2)
    array([1., 2., 4.])
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def _draw(stages: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    scored = any(row["score"] is not None for rows in stages.values() for row in rows)
    figure, axes = panels(1 + scored)
    for (style, color), (stage, rows) in zip(cycle(product(("-", "--", ":"), COLORS)), stages.items(), strict=False):
        _draw_losses(axes[0], rows, stage, color, style)
        if scored:
            _draw_scores(axes[1], rows, color, style)
    for ax, title in zip(axes, ("loss", "validation score"), strict=False):
        ax.set(title=title, xlabel="steps")
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    losses = [row["loss"] for rows in stages.values() for row in rows if row["loss"] is not None]
    if losses and 0 < 20 * min(losses) < max(losses):
        axes[0].set_yscale("log")
    return figure


def _draw_losses(ax: Axes, rows: Sequence[Mapping[str, Any]], stage: str, color: str, style: str) -> None:
    steps, losses = _column(rows, "loss")
    ax.plot(steps, losses, color=color, alpha=0.15, linewidth=1)
    ax.plot(steps, running_mean(losses, max(len(losses) // 25, 1)), style, color=color, label=stage, linewidth=2)


def _draw_scores(ax: Axes, rows: Sequence[Mapping[str, Any]], color: str, style: str) -> None:
    steps, scores = _column(rows, "score")
    ax.plot(steps, scores, f"o{style}", color=color, markersize=4)
    if len(scores):
        best = int(np.argmax(scores))
        ax.plot(steps[best], scores[best], "o", color=color, markersize=10, markerfacecolor="none")


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    there = [row for row in rows if row[name] is not None]
    return np.array([row["step"] for row in there], np.int64), np.array([row[name] for row in there], np.float64)
