"""Sim-S against distances of unit vectors."""

import numpy as np
import pytest

import kinfolk as kf


def test_sim_s_is_the_cosine_or_its_kernel():
    X = np.random.default_rng(0).standard_normal((20, 5))
    g = kf.knn_graph(X, 3)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    squares = ((unit[:, None] - unit[g.indices]) ** 2).sum(-1)
    np.testing.assert_allclose(kf.sim_s(g), 1 - squares / 2, atol=1e-5)
    np.testing.assert_allclose(kf.sim_s(g, "gaussian", width=0.7), np.exp(-squares / (2 * 0.49)), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(kernel="linear"), "kernel must be one of cosine, gaussian, not 'linear'"),
        (dict(kernel="gaussian", width=0), "width must be positive, not 0"),
    ],
)
def test_unknown_choices_are_refused(arguments, sentence):
    with pytest.raises(kf.InputError, match=sentence):
        kf.sim_s(kf.knn_graph(np.eye(4), 2), **arguments)
