"""Feature methods: what is fitted to which identities, and how often."""

import numpy as np

from kinfolk.experiments.feature_methods import LABEL_FREE, ORIGINAL, FeatureCache, FeatureMethod, fitted, half_of
from kinfolk.features import unit_rows

QUICK = FeatureMethod("quick", dict(model="subgraph", attention="band", steps=1, k=5))


def test_thresholds_of_a_trained_method_are_tuned_on_identities_it_has_not_seen(tiny, fits):
    tuning = FeatureCache().tuning(QUICK, tiny, seed=0)
    (_, labels) = fits[-1]
    assert set(labels) & set(tuning.labels) == set()
    assert set(labels) | set(tuning.labels) == set(tiny.train.labels)


def test_other_methods_are_tuned_on_the_whole_training_part(tiny, fits):
    free = FeatureCache().tuning(LABEL_FREE, tiny, seed=0)
    assert fits[-1][1] is None and len(free.labels) == len(tiny.train)
    given = FeatureCache().tuning(ORIGINAL, tiny, seed=0)
    np.testing.assert_allclose(given.features, unit_rows(tiny.train), atol=1e-6)


def test_the_cache_fits_once_for_cells_that_follow_each_other(tiny, fits):
    cache = FeatureCache()
    first, second = (cache.test(LABEL_FREE, tiny, 0) for _ in range(2))
    assert first is second and len(fits) == 1
    assert cache.test(ORIGINAL, tiny, 0).enhancer is None


def test_a_graph_of_a_larger_k_is_restricted_and_a_smaller_one_replaced(tiny):
    cache = FeatureCache()
    ten = cache.graph(tiny, 10)
    np.testing.assert_array_equal(cache.graph(tiny, 4).indices, ten.indices[:, :4])
    assert cache.graph(tiny, 12).k == 12


def test_an_encoder_without_k_gets_that_of_the_training_part(tiny):
    method = FeatureMethod("quick", dict(model="subgraph", attention="none", steps=1))
    assert fitted(method, tiny.train, tiny, seed=0).get_params()["k"] == tiny.kin_k


def test_half_of_the_identities_is_half_and_follows_the_seed():
    labels = np.repeat(np.arange(10), 3)
    assert len(set(labels[half_of(labels, 0)])) == 5
    assert any((half_of(labels, 0) != half_of(labels, seed)).any() for seed in range(1, 4))
