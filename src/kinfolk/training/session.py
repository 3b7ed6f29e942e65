"""Settings that the stages of one fit share: seed, checkpoints, log, progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kinfolk.training.checkpoint import Checkpoints
from kinfolk.training.log import TrainingLog
from kinfolk.training.loop import Stage, StageResult, run_stage, step_generator


@dataclass
class Session:
    """Settings of one fit.

    Parameters
    ----------
    seed : of all random numbers.
    checkpoints, log : where they go; None: nowhere.
    show_progress : bars on a terminal.

    Examples
    --------
    >>> Session(seed=0).rng("metric", step=3).integers(10) >= 0
    np.True_
    """

    seed: int = 0
    checkpoints: Checkpoints | None = None
    log: TrainingLog | None = None
    show_progress: bool = False

    def rng(self, stage: str, step: int) -> np.random.Generator:
        """Return the random generator of one step of a stage, see `step_generator`."""
        return step_generator(self.seed, stage, step)

    def run(
        self,
        name: str,
        steps: int,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        batch_loss: Callable[[int], Tensor],
        **options: Any,
    ) -> StageResult:
        """Run one stage with the checkpoints and the log of the session; options as in `run_stage`."""
        return run_stage(
            Stage(name, steps),
            module,
            optimizer,
            batch_loss,
            checkpoint=self.checkpoints,
            log=self.log,
            show_progress=self.show_progress,
            **options,
        )
