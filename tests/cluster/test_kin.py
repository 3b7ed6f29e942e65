"""Kin and the grouping by means, against their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster import Kin
from kinfolk.cluster.kin import kin_cosine, looks_enhanced
from kinfolk.cluster.means import group_by_means, quality
from kinfolk.features import unit_rows
from kinfolk.nn.kinship import Kinship


def quality_of_all_pairs(Z: np.ndarray, labels: np.ndarray, threshold: float) -> float:
    pairs = itertools.product(range(len(Z)), repeat=2)
    return sum(float(Z[i] @ Z[j]) - threshold for i, j in pairs if labels[i] == labels[j]) / 2


def everybody(n: int) -> np.ndarray:
    return np.array([[j for j in range(n) if j != i] for i in range(n)], dtype=np.int32)


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 10_000), st.floats(-0.5, 0.95))
def test_no_row_and_no_cluster_would_rather_be_elsewhere(n, seed, threshold):
    Z = unit_rows(np.random.default_rng(seed).standard_normal((n, 4)))
    labels = group_by_means(Z, everybody(n), threshold, seed)
    best = quality_of_all_pairs(Z, labels, threshold)
    assert quality(Z, labels, threshold) == pytest.approx(best, abs=1e-4)
    assert best >= quality_of_all_pairs(Z, np.arange(n), threshold) - 1e-4
    for a, b in itertools.combinations(np.unique(labels), 2):
        assert quality_of_all_pairs(Z, np.where(labels == a, b, labels), threshold) <= best + 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_few_rows_are_grouped_as_well_as_can_be(seed):
    rng = np.random.default_rng(seed)
    Z = unit_rows(np.eye(3)[[0, 0, 0, 1, 1, 2]] + 0.4 * rng.standard_normal((6, 3)))
    every = itertools.product(range(6), repeat=6)
    best = max(quality_of_all_pairs(Z, np.array(labels), 0.6) for labels in every if labels[0] == 0)
    assert quality(Z, group_by_means(Z, everybody(6), 0.6), 0.6) == pytest.approx(best, abs=0.05 * abs(best) + 1e-4)


def test_a_row_joins_neighbours_only():
    Z = unit_rows(np.ones((4, 2)))
    apart = np.array([[1], [0], [3], [2]], dtype=np.int32)
    assert len(set(group_by_means(Z, apart, threshold=2.0).tolist())) == 4
    assert len(set(group_by_means(Z, apart, threshold=0.5).tolist())) == 1, "clusters with the same mean are joined"


def test_the_cosine_lies_between_kin_and_strangers():
    fs = kf.datasets.celeb_like(30, seed=1)
    g = kf.knn_graph(kf.GraphEnhancer(show_progress=False).fit_transform(fs), k=160)
    same = fs.labels[g.indices] == fs.labels[:, None]
    assert np.median(g.similarities[~same]) < kin_cosine(Kinship.shipped(), g) < np.median(g.similarities[same])


def test_enhanced_features_are_known_and_not_enhanced_again():
    fs = kf.datasets.celeb_like(20, seed=0)
    Z = kf.GraphEnhancer(show_progress=False).fit_transform(fs)
    assert not looks_enhanced(unit_rows(fs))
    assert looks_enhanced(Z)
    np.testing.assert_array_equal(Kin().fit_predict(Z), Kin(enhancer=None).fit_predict(Z))
    np.testing.assert_array_equal(Kin().fit_predict(fs), Kin().fit_predict(Z))


def test_a_fitted_enhancer_is_used_and_others_are_refused():
    fs = kf.datasets.celeb_like(20, seed=0)
    enhancer = kf.GraphEnhancer(k=20, show_progress=False).fit(fs)
    np.testing.assert_array_equal(Kin(enhancer).fit_predict(fs), Kin(None).fit_predict(enhancer.transform(fs)))
    with pytest.raises(kf.InputError, match="fitted GraphEnhancer"):
        Kin("always").fit(fs)


@pytest.mark.parametrize("name", ["market1501", "omniglot"])
def test_kin_beats_every_default_of_others_on_real_training_parts(shared_data, name):
    fs = kf.load(shared_data / f"{name}.npz").part("train")
    found = Kin().fit_predict(fs)
    assert (kf.metrics.pairwise(fs.labels, found).f + kf.metrics.bcubed(fs.labels, found).f) / 2 > 0.67
