"""The fast recipe for encoders of sub-graphs."""

from __future__ import annotations

import numpy as np
import torch

from kinfolk.training import recipe_fast
from kinfolk.training.recipe_fast import train_fast
from kinfolk.training.session import Session


def test_the_fast_recipe_is_better_on_held_back_identities_or_changes_nothing(data, encoder):
    X, y, g = data
    model = encoder()
    result = train_fast(model, X, y, g, Session(), steps=60)
    untrained = train_fast(encoder(), X, y, g, Session(), steps=0)
    assert result.best_score >= untrained.best_score
    assert untrained.best_step == 0


def test_the_untrained_state_is_kept_where_training_never_helps(monkeypatch, data, encoder, state):
    X, y, g = data
    scores = iter([0.9, *(0.9 - 0.1 * t for t in range(1, 50))])
    monkeypatch.setattr(recipe_fast, "mean_average_precision", lambda *_, **__: next(scores))
    monkeypatch.setattr(recipe_fast, "VALIDATE_EVERY", 2)
    model = encoder()
    before = state(model)
    result = train_fast(model, X, y, g, Session(), steps=20)
    assert (result.best_step, result.best_score) == (0, 0.9)
    assert result.steps_done == 6  # patience: three validations
    assert all(torch.equal(values, before[name]) for name, values in state(model).items())


def test_the_best_state_is_kept_where_training_helps_for_a_while(monkeypatch, data, encoder, state):
    X, y, g = data
    scores = iter([0.5, 0.6, 0.4, 0.3, 0.2])
    monkeypatch.setattr(recipe_fast, "mean_average_precision", lambda *_, **__: next(scores))
    monkeypatch.setattr(recipe_fast, "VALIDATE_EVERY", 2)
    model = encoder()
    before = state(model)
    result = train_fast(model, X, y, g, Session(), steps=20)
    assert (result.best_step, result.best_score) == (2, 0.6)
    assert any(not torch.equal(values, before[name]) for name, values in model.state_dict().items())


def test_held_back_identities_are_never_in_a_batch(monkeypatch, data, encoder):
    X, y, g = data
    seen: set[int] = set()
    true_loss = recipe_fast.supervised_contrastive

    def watched(z, labels, temperature):
        seen.update(labels.tolist())
        return true_loss(z, labels, temperature)

    asked: list[np.ndarray] = []
    true_map = recipe_fast.mean_average_precision

    def watched_map(Z, labels, *, queries, n_queries):
        asked.append(labels[queries])
        return true_map(Z, labels, queries=queries, n_queries=n_queries)

    monkeypatch.setattr(recipe_fast, "supervised_contrastive", watched)
    monkeypatch.setattr(recipe_fast, "mean_average_precision", watched_map)
    train_fast(encoder(), X, y, g, Session(), steps=25)
    held_back = set(np.concatenate(asked).tolist())
    assert len(held_back) == 3  # a quarter of twelve
    assert seen
    assert not seen & held_back


def test_two_runs_have_the_same_bits(data, encoder, state):
    X, y, g = data
    one, other = encoder("random"), encoder("random")
    train_fast(one, X, y, g, Session(seed=2), steps=8)
    train_fast(other, X, y, g, Session(seed=2), steps=8)
    assert state(one).keys() == state(other).keys()
    assert all(torch.equal(values, state(other)[name]) for name, values in state(one).items())
