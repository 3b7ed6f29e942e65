"""Pooled queries beside means over a dictionary."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.metrics import pool_queries


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 30), classes=st.integers(1, 4), cameras=st.integers(1, 3), seed=st.integers(0, 99))
def test_pooled_queries_are_means(n, classes, cameras, seed):
    rng = np.random.default_rng(seed)
    X, y, c = rng.standard_normal((n, 4)), rng.integers(-1, classes, n), rng.integers(cameras, size=n)
    y[0] = 0
    pooled = pool_queries(X, y, c)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    wanted = {}
    for row in range(n):
        if y[row] >= 0:
            wanted.setdefault((y[row], c[row]), []).append(unit[row])
    assert list(zip(pooled.labels, pooled.cameras, strict=True)) == sorted(wanted)
    for row, pair in zip(pooled.features, sorted(wanted), strict=True):
        mean = np.mean(wanted[pair], axis=0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-4)


def test_opposite_queries_have_no_mean_and_the_first_stays():
    assert pool_queries(np.array([[1.0, 0], [-1, 0]]), [1, 1], [1, 1]).features.tolist() == [[1.0, 0.0]]
