"""A fit that is killed at any moment and taken up again ends with the same bits as one that was left alone.

Run as a program this file is the fit that gets killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from kinfolk._core.threads import one_torch_thread
from kinfolk.training import Checkpoints, Stage, StageResult, TrainingLog, run_stage, step_generator

STAGE = Stage("small lr=0.02", steps=30)
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.02, weight_decay=0.1),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.02, momentum=0.9),
}


@pytest.fixture(autouse=True, scope="module")
def ctrl_c_is_not_ignored():
    """A program that was started in the background ignores SIGINT, and its tests with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Killed(BaseException):
    """Ends a fit as SIGKILL would: nobody catches it to save anything."""


def nothing(*_: object) -> None:
    """Do nothing, at any moment."""


def small_net() -> nn.Module:
    torch.manual_seed(0)
    # running averages of batch norm are state that the forward pass changes, not the optimizer
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


def data() -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.standard_normal((64, 4)).astype(np.float32))
    return X, X[:, :1] * X[:, 1:2]


def rate(step: int) -> float:
    return 1 - step / 60


def fit(
    folder: Path,
    optimizer: str,
    moment: Callable[[str, int], None] = nothing,
    prepare: Callable[[torch.optim.Optimizer], None] = nothing,
) -> tuple[nn.Module, StageResult]:
    """Train a small network; `moment` is called with each step, each validation and each row of the log."""
    net, (X, y) = small_net(), data()
    updates = OPTIMIZERS[optimizer](net.parameters())
    prepare(updates)

    class Log(TrainingLog):
        def add(self, stage, row):
            super().add(stage, row)
            moment("log", row["step"])

    def batch_loss(step: int) -> torch.Tensor:
        rows = step_generator(3, STAGE.name, step).integers(64, size=16)
        loss = (net(X[rows]) - y[rows]).square().mean()
        moment("loss", step)
        return loss

    def validate() -> float:
        score = -(net(X) - y).square().mean().item()
        moment("validate", 0)
        return score

    checkpoints = Checkpoints(folder / "checkpoints", every=5, fingerprint="small")
    extras = dict(schedule=rate, validate=validate, validate_every=4, clip=1.0)
    with one_torch_thread():  # the bits depend on the number of threads, and earlier tests may have changed it
        return net, run_stage(STAGE, net, updates, batch_loss, checkpoint=checkpoints, log=Log(folder), **extras)


def csv_without_seconds(folder: Path) -> list[str]:
    return [line.rpartition(",")[0] for line in (folder / "training-log.csv").read_text().splitlines()]


def assert_same(one: tuple[nn.Module, StageResult], other: tuple[nn.Module, StageResult]) -> None:
    for (name, a), b in zip(one[0].state_dict().items(), other[0].state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    untimed = [[{**row, "seconds": 0} for row in fitted[1].history] for fitted in (one, other)]
    assert untimed[0] == untimed[1]
    assert (one[1].best_step, one[1].best_score) == (other[1].best_step, other[1].best_score)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, tuple[Path, tuple[nn.Module, StageResult]]]:
    folders = {name: tmp_path_factory.mktemp(name) for name in OPTIMIZERS}
    return {name: (folder, fit(folder, name)) for name, folder in folders.items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_loop_is_what_one_would_write_by_hand(undisturbed, optimizer):
    torch.set_num_threads(1)
    net, (X, y) = small_net(), data()
    updates = OPTIMIZERS[optimizer](net.parameters())
    base = updates.param_groups[0]["lr"]
    best_score, best = -np.inf, {}
    for step in range(STAGE.steps + 1):
        if step % 4 == 0 or step == STAGE.steps:
            net.eval()
            with torch.no_grad():
                score = -(net(X) - y).square().mean().item()
            net.train()
            if score > best_score:
                best_score, best = score, {name: t.clone() for name, t in net.state_dict().items()}
        if step < STAGE.steps:
            rows = step_generator(3, STAGE.name, step).integers(64, size=16)
            updates.param_groups[0]["lr"] = base * rate(step)
            updates.zero_grad()
            (net(X[rows]) - y[rows]).square().mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            updates.step()
    found, result = undisturbed[optimizer][1]
    assert result.best_score == best_score
    assert all(torch.equal(t, best[name]) for name, t in found.state_dict().items())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_killed_for_real_and_taken_up_again(tmp_path, undisturbed, optimizer):
    killed = subprocess.run([sys.executable, __file__, str(tmp_path), optimizer], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert Checkpoints(tmp_path / "checkpoints", fingerprint="small").load(STAGE.name).step == 15
    assert csv_without_seconds(tmp_path)[-1].startswith(f"{STAGE.name},17,")
    steps = []
    again = fit(tmp_path, optimizer, lambda what, step: steps.append(step) if what == "loss" else None)
    assert steps == list(range(15, 30))
    folder, expected = undisturbed[optimizer]
    assert_same(again, expected)
    assert csv_without_seconds(tmp_path) == csv_without_seconds(folder)
    seconds = [row["seconds"] for row in again[1].history]
    assert seconds == sorted(seconds)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 70), st.sampled_from([Killed, KeyboardInterrupt])), max_size=4))
def test_killed_or_interrupted_again_and_again(tmp_path_factory, undisturbed, ends):
    folder = tmp_path_factory.mktemp("fit")
    for moments, end in ends:
        left = iter(range(moments))

        def moment(what: str, step: int, left=left, end=end) -> None:
            if next(left, None) is None:
                raise end

        with contextlib.suppress(Killed, KeyboardInterrupt):
            fit(folder, "adamw", moment)
    reference, expected = undisturbed["adamw"]
    assert_same(fit(folder, "adamw"), expected)
    assert csv_without_seconds(folder) == csv_without_seconds(reference)


def test_an_interrupt_in_the_loss_saves_the_last_whole_step(tmp_path, undisturbed):
    def moment(what: str, step: int) -> None:
        if (what, step) == ("loss", 12):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, "sgd", moment)
    assert Checkpoints(tmp_path / "checkpoints", fingerprint="small").load(STAGE.name).step == 12
    left = sorted(file.name for file in (tmp_path / "checkpoints").iterdir())
    assert left == ["manifest.json", f"{STAGE.name}.safetensors"]
    steps = []
    assert_same(fit(tmp_path, "sgd", lambda what, step: steps.append((what, step))), undisturbed["sgd"][1])
    assert next(step for what, step in steps if what == "loss") == 12


@pytest.mark.parametrize("validation", [0, 1, 8])
def test_an_interrupted_validation_is_made_again_and_logged_once(tmp_path, undisturbed, validation):
    calls = iter(range(100))

    def moment(what: str, step: int) -> None:
        if what == "validate" and next(calls) == validation:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, "adamw", moment)
    state = Checkpoints(tmp_path / "checkpoints", fingerprint="small").load(STAGE.name)
    assert (state.step, state.finished) == (min(4 * validation, STAGE.steps), False)
    reference, expected = undisturbed["adamw"]
    assert_same(fit(tmp_path, "adamw"), expected)
    assert csv_without_seconds(tmp_path) == csv_without_seconds(reference)


def test_an_interrupt_in_the_update_waits_until_the_step_is_whole(tmp_path, undisturbed):
    handler, calls = signal.getsignal(signal.SIGINT), iter(range(100))

    def press(*_: object) -> None:
        if next(calls) == 7:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, "adamw", prepare=lambda updates: updates.register_step_pre_hook(press))
    assert signal.getsignal(signal.SIGINT) is handler
    assert Checkpoints(tmp_path / "checkpoints", fingerprint="small").load(STAGE.name).step == 8
    assert_same(fit(tmp_path, "adamw"), undisturbed["adamw"][1])


def kill_myself(what: str, step: int) -> None:
    if (what, step) == ("loss", 17):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), sys.argv[2], kill_myself)
