"""Training: the recipes, the loop, checkpoints and the log. Needs torch."""

from kinfolk._core import needs_torch  # noqa: F401
from kinfolk.training.checkpoint import Checkpoints, StageState
from kinfolk.training.log import LogRow, TrainingLog
from kinfolk.training.loop import Stage, StageResult, TrainingError, run_stage, step_generator

__all__ = ["Checkpoints", "LogRow", "Stage", "StageResult", "StageState", "TrainingError", "TrainingLog"]
__all__ += ["run_stage", "step_generator"]
