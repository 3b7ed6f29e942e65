"""The log of a training run, one row a step: in memory, in a CSV file, and for TensorBoard on request."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from kinfolk._core.errors import InputError, MissingExtraError
from kinfolk._core.files import CHECKPOINTS, record, replacing
from kinfolk.formats._common import reading

HEADER = "stage,step,loss,lr,score,seconds"


class LogRow(TypedDict):
    """One row of the log: the state after one step.

    Attributes
    ----------
    step : steps done so far.
    loss, lr : loss and learning rate of the last step; None before the first.
    score : validation score after the step; None where there was no validation.
    seconds : time since the start of the stage, interruptions excluded.

    Examples
    --------
    >>> LogRow(step=1, loss=0.5, lr=0.1, score=None, seconds=0.25)["loss"]
    0.5
    """

    step: int
    loss: float | None
    lr: float | None
    score: float | None
    seconds: float


class TrainingLog:
    """The log of all stages of a fit: in `rows` and, with a folder, in its `training-log.csv`.

    Parameters
    ----------
    folder : where the file is written; None: the rows stay in memory.
    tensorboard : write the same numbers to <folder>/tensorboard/<stage> too.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = TrainingLog(folder)
    ...     log.begin("encoder", [])
    ...     log.add("encoder", LogRow(step=1, loss=0.5, lr=0.1, score=None, seconds=0.25))
    ...     print((Path(folder) / "training-log.csv").read_text())
    stage,step,loss,lr,score,seconds
    encoder,1,0.5,0.1,,0.25
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, tensorboard: bool = False) -> None:
        """Prepare an empty log; nothing is written yet."""
        if tensorboard and folder is None:
            raise InputError("TensorBoard needs a folder to write to: give the training log one")
        self.rows: list[dict[str, Any]] = []
        self.file = None if folder is None else Path(folder) / "training-log.csv"
        self._tensorboard: Any = _tensorboard() if tensorboard else None
        self._writers: dict[str, Any] = {}
        self._purge_from: dict[str, int] = {}
        self._lock = threading.Lock()  # stages may run side by side

    def begin(self, stage: str, rows: Sequence[LogRow]) -> None:
        """Start a stage, or resume it after `rows`: other rows of this stage are removed from the log."""
        with self._lock:
            self.rows = [row for row in self.rows if row["stage"] != stage] + [{"stage": stage, **row} for row in rows]
            self._purge_from[stage] = rows[-1]["step"] + 1 if rows else 0
            if self.file is None:
                return
            lines = [HEADER, *self._lines_of_other_stages(stage), *(_line(stage, row) for row in rows)]
            with replacing(self.file, force=True) as temporary:
                temporary.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
            record(self.file.parent, CHECKPOINTS, [], growing=[self.file.name])

    def add(self, stage: str, row: LogRow) -> None:
        """Append the next row of a stage that has begun."""
        with self._lock:
            self.rows.append({"stage": stage, **row})
            if self.file is None:
                return
            # opened for each row: a run that is killed loses no row, and the file needs no closing
            with self.file.open("a", encoding="utf-8", newline="\n") as stream:
                stream.write(_line(stage, row) + "\n")
            if self._tensorboard is not None:
                self._add_to_tensorboard(stage, row, self.file.parent)

    def end(self, stage: str | None = None) -> None:
        """Close the TensorBoard writer of a stage, or of all stages."""
        with self._lock:
            for name in list(self._writers) if stage is None else [stage]:
                writer = self._writers.pop(name, None)
                if writer is not None:
                    writer.close()
                    self._record_events(name)

    def _lines_of_other_stages(self, stage: str) -> list[str]:
        if self.file is None or not self.file.exists():
            return []
        with reading(self.file, "a training log"):
            header, *lines = self.file.read_text(encoding="utf-8").split("\n")
        if header != HEADER:
            raise InputError(f"{self.file} is not a training log of kinfolk: move it away or choose another folder")
        # text after the last line break is empty or half a line of a killed run; names of stages have no commas
        return [line for line in lines[:-1] if not line.startswith(f"{stage},")]

    def _add_to_tensorboard(self, stage: str, row: LogRow, folder: Path) -> None:
        if stage not in self._writers:
            # TensorBoard drops the events of an interrupted run from this step on
            target = folder / "tensorboard" / stage
            self._writers[stage] = self._tensorboard.SummaryWriter(str(target), purge_step=self._purge_from[stage])
        for name, value in (("loss", row["loss"]), ("lr", row["lr"]), ("score", row["score"])):
            if value is not None:
                self._writers[stage].add_scalar(name, value, row["step"])

    def _record_events(self, stage: str) -> None:
        assert self.file is not None
        folder = self.file.parent
        events = (path for path in (folder / "tensorboard" / stage).rglob("*") if path.is_file())
        record(folder, CHECKPOINTS, [], growing=[path.relative_to(folder).as_posix() for path in events])


def _line(stage: str, row: LogRow) -> str:
    numbers = (row["step"], row["loss"], row["lr"], row["score"], row["seconds"])
    return ",".join([stage, *("" if number is None else repr(number) for number in numbers)])


def _tensorboard() -> Any:
    try:
        return importlib.import_module("torch.utils.tensorboard")
    except ImportError as error:
        raise MissingExtraError("tensorboard", "tensorboard") from error
