"""Kin and the Potts model, against their definitions."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

import kinfolk as kf
from kinfolk.cluster import Kin
from kinfolk.cluster.kin import _where_classes_show, _where_fallen, class_scale, kin_graph, looks_enhanced, widest_k
from kinfolk.cluster.potts import group_by_potts, potts_quality
from kinfolk.features import unit_rows
from kinfolk.nn.kinship import Kinship, kin_blocks, label_free_graph
from kinfolk.nn.propagate import scales_of


def quality_of_all_pairs(weights: np.ndarray, labels: np.ndarray, resolution: float) -> float:
    pairs = itertools.combinations(range(len(labels)), 2)
    return sum(float(weights[i, j]) - resolution for i, j in pairs if labels[i] == labels[j])


def some_graph(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.7), 1).astype(np.float32)
    return upper + upper.T


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000), st.floats(0.05, 0.95))
def test_no_cluster_would_rather_be_elsewhere(n, seed, resolution):
    weights = some_graph(n, seed)
    labels = group_by_potts(csr_array(weights), resolution, seed)
    best = quality_of_all_pairs(weights, labels, resolution)
    assert potts_quality(csr_array(weights), labels, resolution) == pytest.approx(best, abs=1e-4)
    assert best >= -1e-4, "rows on their own have quality 0"
    for a, b in itertools.combinations(np.unique(labels), 2):
        assert quality_of_all_pairs(weights, np.where(labels == a, b, labels), resolution) <= best + 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_few_rows_are_grouped_nearly_as_well_as_can_be(seed):
    weights = some_graph(6, seed)
    every = [np.array(labels) for labels in itertools.product(range(6), repeat=6) if labels[0] == 0]
    best = max(quality_of_all_pairs(weights, labels, 0.5) for labels in every)
    assert quality_of_all_pairs(weights, group_by_potts(csr_array(weights)), 0.5) >= 0.8 * best - 1e-4


def test_a_graph_without_edges_and_one_of_equals():
    assert len(set(group_by_potts(csr_array((5, 5), dtype=np.float32)).tolist())) == 5
    assert len(set(group_by_potts(csr_array(1 - np.eye(5, dtype=np.float32))).tolist())) == 1


def test_the_graph_of_kinship_is_what_both_ends_say_on_average():
    g = kf.knn_graph(kf.datasets.celeb_like(6, seed=3), k=60)
    net, k, n = Kinship.shipped(), 20, len(g)
    said = np.zeros((n, n))
    for scale in scales_of(k):
        for rows, log_p, _ in kin_blocks(net, g, scale):
            for i, row in zip(rows, log_p, strict=True):
                said[i, g.indices[i, : len(row)]] += np.exp(row) / 2
    said[said < 0.02] = 0
    np.testing.assert_allclose(kin_graph(net, g, k).toarray(), (said + said.T) / 2, atol=0.011)


@pytest.mark.parametrize("items", [8, 30])
def test_the_scale_follows_the_size_of_the_classes(items):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 64)).repeat(items, axis=0) + 1.2 * rng.standard_normal((40 * items, 64))
    Z = kf.GraphEnhancer(show_progress=False).fit_transform(rows)
    g = kf.knn_graph(Z, k=120)
    assert items / 2 <= class_scale(Kinship.shipped(), g) <= 2 * items


@pytest.mark.parametrize(
    ("counts", "k"),
    [
        ([1.6, 1.6, 1.4, 1.2, 1.1], 10),  # falls to 0.8 of its peak between 8 and 12
        ([1.0, 1.2, 1.5, 1.4, 1.6], 12),  # dips behind the peak and rises again: a family begins
        ([1.2, 1.4, 1.41, 1.5, 1.1], 8),  # stands still behind the peak and rises again: a family too
        ([1.2, 1.1, 1.0, 1.2, 1.5], 17),  # falls before a class shows: not a peak
        ([1.7, 1.2, 0.9, 1.2, 1.8], 6),  # falls far from a first peak: small classes in families
        ([0.5, 0.5, 0.5, 0.5, 0.5], 17),
    ],
)
def test_the_scale_is_read_off_the_counts(counts, k):
    assert round(_where_fallen([3, 5, 8, 12, 17], np.array(counts))) == k


def test_the_scale_fits_into_a_small_graph():
    g = kf.knn_graph(np.eye(9) + 0.1, k=4)
    assert 1 <= class_scale(Kinship.shipped(), g) <= widest_k(g)
    assert Kin().fit([[1.0, 0.0], [0.9, 0.1]]).labels_.shape == (2,)


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
    found = Kin(enhancer).fit_predict(fs)
    assert enhancer.propagation_.nearest, "the enhancer itself is left as it was"
    enhancer.propagation_ = replace(enhancer.propagation_, nearest=False)
    same = Kin(None).fit_predict(enhancer.transform(fs))
    assert kf.metrics.ari(found, same) > 0.999, "rows are divided by their lengths once more: the last bit may differ"
    with pytest.raises(kf.InputError, match="fitted GraphEnhancer"):
        Kin("always").fit(fs)
    with pytest.raises(NotFittedError):
        Kin(kf.GraphEnhancer()).fit(fs)


@pytest.mark.parametrize(("name", "least"), [("market1501", 0.74), ("omniglot", 0.72)])
def test_kin_beats_every_default_of_others_on_real_training_parts(shared_data, name, least):
    fs = kf.load(shared_data / f"{name}.npz").part("train")
    found = Kin().fit_predict(fs)
    assert (kf.metrics.pairwise(fs.labels, found).f + kf.metrics.bcubed(fs.labels, found).f) / 2 > least


@pytest.mark.parametrize(
    ("counts", "start"),
    [
        ([0.87, 0.73, 0.66, 0.65, 0.7, 1.03, 1.63, 1.3], 3),  # a tenth of clinc150: falls by 0.22 before a class shows
        ([1.24, 0.95, 0.72, 0.65, 0.6, 0.57, 0.53, 0.5], 0),  # classes of four
        ([0.9, 0.8, 0.7, 0.65, 0.6, 0.57, 0.53, 0.5], 0),  # no class at any k
        ([1.2, 0.7, 1.6, 1.2, 1.0, 0.9, 0.8, 0.7], 0),  # a class of few, and its family
    ],
)
def test_counts_that_fall_before_a_class_shows_are_no_class(counts, start):
    assert _where_classes_show(np.array(counts)) == start


def test_a_fall_before_the_first_class_does_not_set_k(monkeypatch):
    ks = [3, 4, 6, 8, 12, 17, 24, 34, 48, 68, 96]
    counts = np.array([0.87, 0.79, 0.73, 0.66, 0.66, 0.65, 0.7, 0.79, 1.03, 1.63, 1.2])
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((400, 8)), k=240)
    monkeypatch.setattr("kinfolk.nn.kinship.grid_of", lambda _: ks)
    monkeypatch.setattr("kinfolk.nn.kinship.kin_counts", lambda *_: counts)
    assert 68 < class_scale(Kinship.shipped(), g) < 96


def test_a_model_that_saw_labels_tells_the_size():
    fs = kf.datasets.celeb_like(30, seed=1)
    train, test = fs.part("train"), fs.part("test")
    e = kf.GraphEnhancer(random_state=0, show_progress=False).fit(train.features)
    free = Kin(e).fit(test)
    for size in (free.k_, 1.5 * free.k_):
        e.class_size_ = size
        assert Kin(e).fit(test).k_ == round(0.8 * size)
    e.class_size_ = 10.0 * free.k_
    assert Kin(e).fit(test).k_ == free.k_
    e.class_size_ = None
    np.testing.assert_array_equal(Kin(e).fit_predict(test), free.labels_)
    assert free.k_ == class_scale(Kinship.shipped(), label_free_graph(e.transform(unit_rows(test))))
