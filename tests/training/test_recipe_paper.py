"""The paper's recipe for encoders of sub-graphs."""

from __future__ import annotations

import numpy as np
import torch

from kinfolk.nn.encode import encode_all
from kinfolk.training.recipe_paper import train_paper
from kinfolk.training.session import Session


def test_the_papers_recipe_lowers_the_loss(data, encoder):
    X, y, g = data
    model = encoder("random", concat=True, norm=True)
    result = train_paper(model, X, y, g, Session(), steps=30)
    losses = [row["loss"] for row in result.history]
    assert result.steps_done == 30
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    Z = encode_all(model, X, g.indices[:, :8], None)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=1e-5)


def test_two_runs_have_the_same_bits(data, encoder, state):
    X, y, g = data
    one, other = encoder("random"), encoder("random")
    train_paper(one, X, y, g, Session(seed=2), steps=8)
    train_paper(other, X, y, g, Session(seed=2), steps=8)
    assert state(one).keys() == state(other).keys()
    assert all(torch.equal(values, state(other)[name]) for name, values in state(one).items())
