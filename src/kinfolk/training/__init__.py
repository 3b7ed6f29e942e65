"""The machinery of every training run: the loop, its checkpoints and log, and the folder of a trained model."""

from kinfolk.training.checkpoint import Checkpoints, StageState
from kinfolk.training.folder import load_model, save_model
from kinfolk.training.log import Row, TrainingLog
from kinfolk.training.loop import Stage, StageResult, TrainingError, run_stage, step_generator

__all__ = ["Checkpoints", "Row", "Stage", "StageResult", "StageState", "TrainingError", "TrainingLog", "load_model"]
__all__ += ["run_stage", "save_model", "step_generator"]
