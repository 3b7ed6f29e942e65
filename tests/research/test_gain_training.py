"""The training of the trees that check k: what is measured on a set, and that trees learn it."""

from __future__ import annotations

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.kinship.scale_choice import MOST_ROWS, SHARES, expected_gains
from kinfolk.kinship.scale_views import INPUTS
from research import gain_training as training


def test_sets_are_as_small_as_the_trees_are_used_on_and_not_solved():
    drawn = [found for found in map(training.drawn, range(200, 216)) if found is not None]
    assert drawn
    for X, classes in drawn:
        assert training.FEWEST <= len(X) == len(classes) <= MOST_ROWS
        assert kf.metrics.mean_average_precision(X, classes) < 1


def test_a_gain_is_that_of_the_enhancer_at_this_k():
    classes, rng = np.arange(12).repeat(8), np.random.default_rng(0)
    X = kf.features.unit_rows(rng.standard_normal((12, 24))[classes] + rng.standard_normal((96, 24)))
    found = training.measured(X, classes)
    ks = [2, 3, 4, 6, 8, 12, 17, 24]
    assert found["views"].shape == (len(ks), INPUTS)
    assert found["gains"].shape == (len(SHARES), len(ks))
    raw, full = (
        kf.metrics.mean_average_precision(Z, classes)
        for Z in (X, kf.GraphEnhancer(k=8, show_progress=False).fit_transform(X))
    )
    assert found["gains"][0, ks.index(8)] == pytest.approx(100 * (full - raw), abs=0.1)


def test_trees_learn_what_they_are_shown(monkeypatch):
    monkeypatch.setattr(training, "MODELS", 1)
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((12, INPUTS)).astype(np.float32) for _ in range(60)]
    trees = training.train([dict(views=v, gains=np.stack([5 * np.sign(v[:, 0]), 0 * v[:, 0]])) for v in views])
    found = expected_gains(trees, views[0])
    assert np.abs(found[0] - 5 * np.sign(views[0][:, 0])).max() < 2
    assert np.abs(found[1]).max() < 2
