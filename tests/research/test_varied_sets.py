from __future__ import annotations

import numpy as np
import pytest
from research.varied_sets import varied


@pytest.fixture(scope="module")
def sets():
    return [varied(seed) for seed in range(4)]


def test_seeds_differ_in_rows_or_dimensions(sets):
    assert len({fs.features.shape for fs in sets}) == 4


def test_rows_can_be_used(sets):
    for fs in sets:
        fs.validate()
        assert len(np.unique(fs.labels)) >= 6


def test_the_same_seed_gives_the_same_set(sets):
    for seed, fs in enumerate(sets):
        again = varied(seed)
        np.testing.assert_array_equal(fs.features, again.features)
        np.testing.assert_array_equal(fs.labels, again.labels)
