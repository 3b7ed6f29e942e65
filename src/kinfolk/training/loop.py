"""The training loop of every stage: validation, the best state, checkpoints, safe to interrupt at any moment."""

from __future__ import annotations

import math
import re
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

import numpy as np
import torch
from torch import Tensor, nn

from kinfolk._core.checks import check_whole
from kinfolk._core.errors import InputError, KinfolkError
from kinfolk._core.progress import progress
from kinfolk.training.checkpoint import Checkpoints, StageState, optimizer_tensors, parameter_names, restore_optimizer
from kinfolk.training.log import LogRow, TrainingLog


class TrainingError(KinfolkError):
    """Training cannot continue: the loss or the validation score is not a finite number.

    Examples
    --------
    >>> issubclass(TrainingError, KinfolkError)
    True
    """


@dataclass(frozen=True)
class Stage:
    """One training run inside a fit.

    Parameters
    ----------
    name : of its checkpoint file and in the log.
    steps : optimizer steps.

    Examples
    --------
    >>> Stage("metric lr=3e-4", steps=200)
    Stage(name='metric lr=3e-4', steps=200)
    >>> Stage("a/b", steps=1)
    Traceback (most recent call last):
    kinfolk.InputError: a stage is named with letters, digits and ' ._=+-' between them, not 'a/b'
    """

    name: str
    steps: int

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9]([\w .=+-]{0,98}[A-Za-z0-9])?", self.name, re.ASCII):
            raise InputError(f"a stage is named with letters, digits and ' ._=+-' between them, not {self.name!r}")
        check_whole(f"stage {self.name}: steps", self.steps, least=0)


@dataclass(frozen=True)
class StageResult:
    """Result of a stage.

    Parameters
    ----------
    best_step, best_score : of the state that was kept; without validation the last step, and None.
    steps_done : fewer than the steps of the stage where patience ended it.
    history : one row of the log for each step.

    Examples
    --------
    >>> StageResult(best_step=40, best_score=0.8, steps_done=60, history=[]).best_step
    40
    """

    best_step: int
    best_score: float | None
    steps_done: int
    history: list[LogRow]


def step_generator(seed: int, stage: str, step: int) -> np.random.Generator:
    """Return the random generator of one step, the same in every process and different for every step.

    Parameters
    ----------
    seed, stage, step : what the generator depends on.

    Returns
    -------
    generator : numpy Generator.

    Examples
    --------
    >>> step_generator(0, "encoder", 5).integers(1000, size=3)
    array([377, 890,  63])
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(stage.encode()), step)))


def run_stage(
    stage: Stage,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch_loss: Callable[[int], Tensor],
    *,
    schedule: Callable[[int], float] | None = None,
    validate: Callable[[], float] | None = None,
    validate_every: int = 0,
    patience: int | None = None,
    checkpoint: Checkpoints | None = None,
    log: TrainingLog | None = None,
    show_progress: bool = True,
    clip: float | None = None,
) -> StageResult:
    """Train `module` in place for the steps of a stage, or for the steps that an interrupted run has left.

    Step t = 0, 1, ... takes the gradient of batch_loss(t), clips its norm, and runs the optimizer with schedule(t)
    times each group's own learning rate (kept in group["initial_lr"]). A run that is killed and resumed gives the same
    bits as one that is not, provided that the loss depends on the module and t only and draws from `step_generator`.
    Ctrl-C saves a checkpoint of the last complete step before it is raised. A stage whose checkpoint is finished is
    loaded, not trained.

    Parameters
    ----------
    stage : name and number of steps.
    module, optimizer : what is trained, and by what.
    batch_loss : t -> the loss of step t.
    schedule : t -> factor of the learning rate; None: 1.
    validate : returns a score, higher is better; called in evaluation mode without gradients before the first step,
        every `validate_every` steps and after the last. The module ends with its best state, which may be the
        untrained one. None: it ends with the last state.
    validate_every : steps between validations; 0: only before the first and after the last step.
    patience : stop after this many scores in a row that are no better than the best; None: never.
    checkpoint, log : where checkpoints and rows of the log go; None: nowhere.
    show_progress : a bar on a terminal.
    clip : largest norm of the gradient; None: not clipped.

    Returns
    -------
    result : StageResult.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> line, x = nn.Linear(1, 1), torch.linspace(-1, 1, 20)[:, None]
    >>> def loss(step):
    ...     return (line(x) - 2 * x).square().mean()
    >>> result = run_stage(Stage("line", steps=50), line, torch.optim.SGD(line.parameters(), lr=0.5), loss)
    >>> result.steps_done, round(line.weight.item(), 3)
    (50, 2.0)
    """
    if validate_every < 0 or (patience is not None and (patience < 1 or not validate_every or validate is None)):
        raise InputError("patience counts validations: it is 1 or more and needs validate and validate_every")
    if clip is not None and not clip > 0:
        raise InputError(f"gradients are clipped to a norm above 0, not {clip}")
    run = _Run(
        stage, module, optimizer, batch_loss, schedule, validate, validate_every, patience, checkpoint, log, clip
    )
    run.resume()
    try:
        if not run.state.finished:
            run.train(show_progress)
    finally:
        if log is not None:
            log.end(stage.name)
    state = run.state
    best_step = state.step if state.best_step is None else state.best_step
    return StageResult(best_step, state.best_score, state.step, state.history)


@dataclass
class _Run:
    """The arguments of run_stage and the current state of the stage."""

    stage: Stage
    module: nn.Module
    optimizer: torch.optim.Optimizer
    batch_loss: Callable[[int], Tensor]
    schedule: Callable[[int], float] | None
    validate: Callable[[], float] | None
    validate_every: int
    patience: int | None
    checkpoint: Checkpoints | None
    log: TrainingLog | None
    clip: float | None
    state: StageState = field(default_factory=StageState)
    scores_since_best: int = 0
    started: float = 0.0

    def resume(self) -> None:
        """Restore module, optimizer and log from the last checkpoint, if there is one."""
        for group in self.optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        if self.checkpoint is not None:
            parameter_names(self.optimizer, self.module)
            saved = self.checkpoint.load(self.stage.name)
            if saved is not None:
                self._restore(saved)
        history = self.state.history
        self.started = time.perf_counter() - (history[-1]["seconds"] if history else 0.0)
        if self.log is not None:
            # a row without its score yet is logged together with the score
            self.log.begin(self.stage.name, history[:-1] if self._validation_due() else history)

    def _restore(self, saved: StageState) -> None:
        try:
            self.module.load_state_dict(saved.module)
            if not saved.finished:
                restore_optimizer(self.optimizer, self.module, saved.optimizer)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"the checkpoint of stage {self.stage.name} is of another model: {error}") from error
        self.state = saved
        scored = [row["step"] for row in saved.history if row["score"] is not None]
        self.scores_since_best = sum(step > (saved.best_step or 0) for step in scored)

    def train(self, show_progress: bool) -> None:
        """Run all remaining steps, then load the best state."""
        try:
            with progress(self.stage.name, self.stage.steps, show_progress) as advance:
                advance(self.state.step)
                if self._validation_due():
                    self._validate()
                    self._log_row()
                while not self._ended():
                    self._train_step()
                    if self._validation_due():
                        self._validate()
                    self._log_row()
                    advance(1, self._text())
                    if self.checkpoint is not None and self.state.step % self.checkpoint.every == 0:
                        self._save()
        except BaseException:  # mainly Ctrl-C, also where a program turns it into another exception
            self._save()
            raise
        with _interrupt_waits():
            self._finish()

    def _ended(self) -> bool:
        impatient = self.patience is not None and self.scores_since_best >= self.patience
        return impatient or self.state.step >= self.stage.steps

    def _train_step(self) -> None:
        step = self.state.step
        buffers = [buffer.clone() for buffer in self.module.buffers()]
        try:
            rate = self._set_learning_rate(step)
            loss = self._take_gradient(step, rate)
            with _interrupt_waits():
                self.optimizer.step()
                self.state.step += 1
                self._add_row(loss, rate)
        except BaseException:
            if self.state.step == step:
                # the forward pass of the unfinished step may have changed running averages
                for buffer, before in zip(self.module.buffers(), buffers, strict=True):
                    buffer.copy_(before)
            raise

    def _set_learning_rate(self, step: int) -> float:
        factor = 1.0 if self.schedule is None else self.schedule(step)
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"] * factor
        return float(self.optimizer.param_groups[0]["lr"])

    def _take_gradient(self, step: int, rate: float) -> float:
        self.optimizer.zero_grad()
        loss = self.batch_loss(step)
        value = loss.item()
        if not math.isfinite(value):
            raise TrainingError(
                f"stage {self.stage.name}: the loss is {value} at step {step + 1}: "
                f"try a smaller learning rate (it is {rate:g} there)"
            )
        loss.backward()  # type: ignore[no-untyped-call]
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
        return value

    def _add_row(self, loss: float | None, rate: float | None) -> None:
        seconds = time.perf_counter() - self.started
        self.state.history.append(LogRow(step=self.state.step, loss=loss, lr=rate, score=None, seconds=seconds))

    def _validation_due(self) -> bool:
        if self.validate is None or self.state.finished:
            return False
        step, history = self.state.step, self.state.history
        milestone = step in (0, self.stage.steps) or (self.validate_every > 0 and step % self.validate_every == 0)
        return milestone and not (history and history[-1]["score"] is not None)

    def _validate(self) -> None:
        assert self.validate is not None
        with _evaluating(self.module):
            score = float(self.validate())
        state = self.state
        if math.isnan(score):
            raise TrainingError(f"stage {self.stage.name}: the validation score is not a number at step {state.step}")
        with _interrupt_waits():
            if state.step == 0:
                self._add_row(None, None)
            state.history[-1]["score"] = score
            if state.best_score is None or score > state.best_score:
                state.best = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}
                state.best_step, state.best_score = state.step, score
                self.scores_since_best = 0
            else:
                self.scores_since_best += 1

    def _log_row(self) -> None:
        if self.log is not None:
            self.log.add(self.stage.name, self.state.history[-1])

    def _text(self) -> str:
        text = f"{self.stage.name}  loss {self.state.history[-1]['loss']:.4g}"
        return text if self.state.best_score is None else f"{text}  best score {self.state.best_score:.4g}"

    def _save(self) -> None:
        if self.checkpoint is not None:
            remembered = optimizer_tensors(self.optimizer, self.module)
            now = replace(self.state, module=self.module.state_dict(), optimizer=remembered)
            self.checkpoint.save(self.stage.name, now)

    def _finish(self) -> None:
        if self.state.best:
            self.module.load_state_dict(self.state.best)
        self.state = replace(self.state, finished=True, best={})
        if self.checkpoint is not None:
            self.checkpoint.save(self.stage.name, replace(self.state, module=self.module.state_dict()))


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Switch to evaluation mode without gradients, and each submodule back to its own mode afterwards."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes.items():
            part.training = mode


@contextmanager
def _interrupt_waits() -> Iterator[None]:
    """Delay Ctrl-C, SIGTERM and SIGHUP to the end of the block, so that no step is interrupted half way."""
    handlers = _stop_handlers()
    came: list[tuple[int, FrameType | None]] = []
    for number in handlers:
        signal.signal(number, lambda *signal_and_frame: came.append(signal_and_frame))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number, frame in came[:1]:
        handlers[number](number, frame)


def _stop_handlers() -> dict[int, Callable[[int, FrameType | None], object]]:
    """Return what happens in Python on signals that end a program; they reach the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    known = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    return {int(number): handler for number, handler in known.items() if callable(handler)}
