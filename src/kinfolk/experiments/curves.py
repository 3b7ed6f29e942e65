"""Learning curves of a training log, as panels of a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.experiments.results import Line, Lines

TOGETHER = 10  # steps: the losses of single batches only jump


def learning_panels(rows: Sequence[Mapping[str, Any]], title: str = "") -> tuple[Lines, ...]:
    """Return the loss, the mean of 10 steps each, and the validation score where there is one, a line for each stage.

    rows: of a `TrainingLog` (stage, step, loss, score), "GraphEnhancer.log_".

    >>> rows = [dict(stage="encoder", step=s, loss=1 / s, score=None if s % 5 else s / 10) for s in range(1, 21)]
    >>> loss, score = learning_panels(rows)
    >>> loss.lines[0].x, score.lines[0].y
    ((10.0, 20.0), (0.5, 1.0, 1.5, 2.0))
    """
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        stages.setdefault(row["stage"], []).append(row)
    losses = [_means(stage, some) for stage, some in stages.items()]
    scores = [_scores(stage, some) for stage, some in stages.items()]
    prefix = f"{title}: " if title else ""
    panels = ((f"{prefix}loss", "loss", losses), (f"{prefix}validation", "score on held-back identities", scores))
    return tuple(
        Lines(title=name, xlabel="steps", ylabel=ylabel, lines=tuple(line for line in lines if line.x))
        for name, ylabel, lines in panels
        if any(line.x for line in lines)
    )


def _means(stage: str, rows: Sequence[Mapping[str, Any]]) -> Line:
    known = [row for row in rows if row["loss"] is not None]
    blocks = [known[start : start + TOGETHER] for start in range(0, len(known), TOGETHER)]
    return Line(
        label=stage,
        x=tuple(float(block[-1]["step"]) for block in blocks),
        y=tuple(float(np.mean([row["loss"] for row in block])) for block in blocks),
    )


def _scores(stage: str, rows: Sequence[Mapping[str, Any]]) -> Line:
    known = [row for row in rows if row["score"] is not None]
    return Line(
        label=stage, x=tuple(float(row["step"]) for row in known), y=tuple(float(row["score"]) for row in known)
    )
