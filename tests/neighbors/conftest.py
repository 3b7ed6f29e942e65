"""Rows that the tests of neighbour search share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def clustered():
    """Return a function that draws rows around random centers: (n, d)."""

    def draw(n, d, seed=0, centers=20):
        rng = np.random.default_rng(seed)
        return rng.standard_normal((centers, d))[rng.integers(0, centers, n)] + 0.5 * rng.standard_normal((n, d))

    return draw
