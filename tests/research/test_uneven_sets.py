from __future__ import annotations

import numpy as np
import pytest
from research.uneven_sets import PROBABILITY_OF_KIND, _with_bursts, uneven_set

ROWS = 200
SEED_OF_KIND = {"lognormal": 0, "one": 1, "zipf": 4, "loners": 5, "huge": 7, "strangers": 8, "even": 17, "few": 21}


@pytest.fixture(scope="module")
def sets():
    return {kind: uneven_set(seed, ROWS) for kind, seed in SEED_OF_KIND.items()}


def test_seeds_give_every_kind(sets):
    assert set(sets) == set(PROBABILITY_OF_KIND)
    assert all(made.kind == kind for kind, made in sets.items())


def test_rows_are_unit_vectors_with_a_label_each(sets):
    for made in sets.values():
        assert made.features.ndim == 2
        assert made.features.dtype == np.float32
        assert made.labels.shape == made.features.shape[:1]
        np.testing.assert_allclose(np.linalg.norm(made.features, axis=1), 1, atol=1e-4)


def test_labels_leave_no_class_empty(sets):
    for made in sets.values():
        np.testing.assert_array_equal(np.unique(made.labels), np.arange(made.labels.max() + 1))


def test_one_class_has_all_rows(sets):
    np.testing.assert_array_equal(np.bincount(sets["one"].labels), [ROWS])


def test_strangers_are_alone_in_their_class(sets):
    np.testing.assert_array_equal(np.bincount(sets["strangers"].labels), np.ones(ROWS))


def test_the_same_seed_gives_the_same_set(sets):
    for kind, seed in SEED_OF_KIND.items():
        again = uneven_set(seed, ROWS)
        np.testing.assert_array_equal(sets[kind].features, again.features)
        np.testing.assert_array_equal(sets[kind].labels, again.labels)


def test_sets_differ_in_rows_or_dimensions_unless_told():
    assert len({uneven_set(seed).features.shape for seed in range(4)}) == 4


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_a_burst_share_the_label_of_their_original(seed):
    rows = np.random.default_rng(seed).standard_normal((100, 32)).astype(np.float32)
    x, labels = _with_bursts(np.random.default_rng(seed), rows, np.arange(100))
    np.testing.assert_array_equal(x[:100], rows)
    assert 100 < len(x) == len(labels) <= 150
    nearest = ((x[:, None] - rows) ** 2).sum(2).argmin(1)
    np.testing.assert_array_equal(labels, nearest)
