"""The training of the judge on a few sets: what is collected, and that a file can be made of it."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.cluster._internal import candidates, membership
from research import judge_training as training


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(training, "SETS_OF_PART", 4)
    monkeypatch.setattr(training, "MODELS", 1)
    monkeypatch.setitem(training.BOOSTING, "max_iter", 5)


@pytest.mark.parametrize("kind", ["uneven", "varied"])
def test_a_part_is_judged_and_learned_from(few, kind):
    part = training.judged_part(kind, 0)
    assert part["inputs"].shape == (len(part["scores"]), candidates.COUNT)
    assert set(np.unique(part["sets"])) <= set(range(4))
    assert 0 <= part["scores"].min() <= part["scores"].max() <= 100
    judge = training.train_judge(**part)
    known = training.member_part(kind, 1, judge)
    assert known["rows"].shape == (len(known["right"]), membership.COUNT)
    assert training.train_members(known["rows"], known["right"])(known["rows"]).shape == known["right"].shape


def test_steepness_of_known_odds():
    heights = np.random.default_rng(0).normal(size=20_000)
    belong = np.random.default_rng(1).random(20_000) < 1 / (1 + np.exp(-2 * heights))
    assert training.steepness(heights, belong) == pytest.approx(2, rel=0.1)


def test_the_class_of_most_rows():
    assert training._main_class(np.array([0, 0, 0, 1]), np.array([2, 5, 5, 2])).tolist() == [5, 2]
