"""The training loop: validation, the best state, patience, errors, the bar."""

from __future__ import annotations

import io
import signal
import sys
import threading

import pytest
import torch
from torch import nn

from kinfolk._core.errors import InputError, KinfolkError
from kinfolk.training import Checkpoints, Stage, TrainingError, TrainingLog, run_stage, step_generator


class Counter(nn.Module):
    """One number, from which each step of SGD with lr=1 takes one."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(()))

    def loss(self, step: int) -> torch.Tensor:
        return self.value


def count(steps: int, **options):
    counter = Counter()
    updates = torch.optim.SGD(counter.parameters(), lr=1.0)
    loss = options.pop("batch_loss", counter.loss)
    return counter, run_stage(Stage("count", steps), counter, updates, loss, **options)


def scores(*values: float):
    left = iter(values)
    return lambda: next(left)


def never(step: int) -> torch.Tensor:
    raise AssertionError("a finished stage is not trained")


def test_without_validation_the_last_state_stays():
    counter, result = count(7)
    assert counter.value == -7
    assert (result.best_step, result.best_score, result.steps_done) == (7, None, 7)
    assert [row["step"] for row in result.history] == list(range(1, 8))
    assert [row["loss"] for row in result.history] == [-step for step in range(7)]


def test_the_best_state_is_kept_and_the_first_of_equals():
    counter, result = count(9, validate=scores(0.1, 0.2, 0.9, 0.9), validate_every=3)
    assert counter.value == -6
    assert (result.best_step, result.best_score, result.steps_done) == (6, 0.9, 9)
    assert {row["step"]: row["score"] for row in result.history if row["score"] is not None} == {
        0: 0.1,
        3: 0.2,
        6: 0.9,
        9: 0.9,
    }


def test_the_state_before_training_may_be_the_best():
    counter, result = count(5, validate=scores(0.5, 0.4))
    assert (counter.value.item(), result.best_step, result.steps_done) == (0, 0, 5)
    assert result.history[0] == dict(step=0, loss=None, lr=None, score=0.5, seconds=result.history[0]["seconds"])


def test_a_stage_without_steps_is_validated_once():
    counter, result = count(0, validate=scores(0.5))
    assert (counter.value.item(), result.best_score, len(result.history)) == (0, 0.5, 1)


def test_patience_counts_validations_without_improvement():
    counter, result = count(100, validate=scores(0, 1, 1, 2, 0, 2), validate_every=2, patience=2)
    assert (counter.value, result.best_step, result.steps_done) == (-6, 6, 10)


def test_patience_is_remembered_by_a_checkpoint(tmp_path):
    counter = Counter()

    def loss_of_two_steps(step: int) -> torch.Tensor:
        if step == 2:
            raise KeyboardInterrupt
        return counter.value

    kept = dict(checkpoint=Checkpoints(tmp_path, fingerprint="x"), validate_every=1, patience=2)
    updates = torch.optim.SGD(counter.parameters(), lr=1.0)
    with pytest.raises(KeyboardInterrupt):
        run_stage(Stage("count", 9), counter, updates, loss_of_two_steps, validate=scores(1, 2, 0), **kept)
    again, result = count(9, validate=scores(0), **kept)
    assert (again.value, result.best_step, result.steps_done) == (-1, 1, 3)


def test_a_finished_stage_is_loaded(tmp_path):
    checkpoints, log = Checkpoints(tmp_path, fingerprint="x"), TrainingLog()
    _, result = count(6, validate=scores(0, 2, 1), validate_every=3, checkpoint=checkpoints)
    counter, again = count(6, batch_loss=never, validate=scores(), validate_every=3, checkpoint=checkpoints, log=log)
    assert (counter.value, again) == (-3, result)
    assert log.rows == [{"stage": "count", **row} for row in result.history]


def test_a_parameter_that_no_checkpoint_would_keep_is_refused_at_once(tmp_path):
    checkpoints, elsewhere = Checkpoints(tmp_path, fingerprint="x"), nn.Parameter(torch.zeros(()))
    with pytest.raises(InputError, match="a parameter that the module does not have"):
        run_stage(Stage("s", 4), nn.Linear(1, 1), torch.optim.SGD([elsewhere]), never, checkpoint=checkpoints)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    checkpoints = Checkpoints(tmp_path, fingerprint="x")
    count(3, checkpoint=checkpoints)
    other = nn.Linear(1, 1)
    with pytest.raises(InputError, match="stage count is of another model"):
        run_stage(Stage("count", 3), other, torch.optim.SGD(other.parameters()), never, checkpoint=checkpoints)


def test_the_schedule_multiplies_the_rate_of_each_group():
    one, two = Counter(), Counter()
    both = nn.ModuleList([one, two])
    updates = torch.optim.SGD([dict(params=one.parameters(), lr=1.0), dict(params=two.parameters(), lr=10.0)])
    result = run_stage(Stage("s", 3), both, updates, lambda _: one.value + two.value, schedule=lambda step: 0.5**step)
    assert (one.value, two.value) == (-1.75, -17.5)
    assert [row["lr"] for row in result.history] == [1, 0.5, 0.25]


def test_gradients_are_clipped():
    counter, _ = count(3, clip=0.25)
    assert counter.value.item() == pytest.approx(-0.75, abs=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_a_number_stops_with_the_step(tmp_path, bad):
    counter = Counter()

    def loss(step: int) -> torch.Tensor:
        return counter.value * (bad if step == 4 else 1)

    updates = torch.optim.SGD(counter.parameters(), lr=0.125)
    with pytest.raises(TrainingError, match=r"stage s: the loss is .* at step 5: .* smaller .* \(it is 0.125 there\)"):
        run_stage(Stage("s", 9), counter, updates, loss, checkpoint=Checkpoints(tmp_path, every=3, fingerprint="x"))
    assert issubclass(TrainingError, KinfolkError)
    assert counter.value == -0.5
    assert Checkpoints(tmp_path, fingerprint="x").load("s").step == 4


def test_a_score_that_is_not_a_number_stops():
    with pytest.raises(TrainingError, match="score is not a number at step 3"):
        count(3, validate=scores(0, float("nan")))


def test_validation_runs_in_evaluation_mode_and_each_part_gets_its_mode_back():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.BatchNorm1d(2))
    net[2].eval()
    seen = []

    def validate() -> float:
        seen.append(([part.training for part in net.modules()], torch.is_grad_enabled()))
        return 0.0

    def loss(step: int) -> torch.Tensor:
        seen.append(([part.training for part in net.modules()], torch.is_grad_enabled()))
        return net(torch.ones(4, 2)).sum()

    run_stage(Stage("s", 1), net, torch.optim.SGD(net.parameters()), loss, validate=validate)
    assert seen == [([False] * 4, False), ([True, True, True, False], True), ([False] * 4, False)]


def test_it_runs_in_a_thread_and_where_interrupts_are_ignored():
    results = []
    thread = threading.Thread(target=lambda: results.append(count(3)[1].steps_done))
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        results.append(count(3)[1].steps_done)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert results == [3, 3]


def test_the_bar_tells_stage_loss_and_score(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    for shown in (True, False):
        monkeypatch.setattr(sys, "stderr", Terminal())
        count(5, validate=scores(0.25, 0.5), show_progress=shown)
        text = sys.stderr.getvalue()
        assert ("count  loss -4  best score 0.5" in text) == shown
        assert ("5/5" in text) == shown


@pytest.mark.parametrize(
    "options",
    [
        dict(patience=0, validate=lambda: 0.0, validate_every=1),
        dict(patience=1, validate=lambda: 0.0),
        dict(patience=1, validate_every=1),
        dict(validate_every=-1),
        dict(clip=0.0),
    ],
)
def test_impossible_options(options):
    with pytest.raises(InputError):
        count(1, **options)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a,b", "-a", "a ", "a\n", "ä", "x" * 101])
def test_names_that_no_file_should_have(name):
    with pytest.raises(InputError, match="a stage is named"):
        Stage(name, 1)


def test_stages_have_steps():
    assert Stage("metric lr=3e-4", 1).name == "metric lr=3e-4"
    with pytest.raises(InputError, match="steps must be a whole number from 0 on"):
        Stage("a", -1)


def test_generators_differ_by_seed_stage_and_step_only():
    keys = [(seed, stage, step) for seed in (0, 1) for stage in ("a", "b") for step in (0, 1, 2)]
    first = {key: tuple(step_generator(*key).integers(2**62, size=4)) for key in keys}
    assert len(set(first.values())) == len(keys)
    assert all(tuple(step_generator(*key).integers(2**62, size=4)) == first[key] for key in keys)
