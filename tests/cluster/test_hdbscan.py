"""HDBSCAN against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import cluster as sklearn_cluster

import kinfolk as kf
from kinfolk.cluster import HDBSCAN, hdbscan
from kinfolk.cluster._internal.base import by_size
from kinfolk.cluster.hac import dense_linkage


def mutual_reachability(unit, samples):
    """The similarities that HDBSCAN links by, looked up one by one."""
    cosines = unit @ unit.T
    core = [sorted([1.0, *np.delete(row, i)], reverse=True)[samples - 1] for i, row in enumerate(cosines)]
    return np.array([[min(c, core[i], core[j]) for j, c in enumerate(row)] for i, row in enumerate(cosines)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(12, 60), st.integers(2, 9), st.integers(1, 9))
def test_hdbscan_is_that_of_scikit_learn_where_all_pairs_count(seed, n, smallest, samples):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, 6))[rng.integers(0, 4, n)] + rng.uniform(0.1, 0.8) * rng.standard_normal((n, 6))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    reached = mutual_reachability(unit, samples)
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(hdbscan._dense_reachability(unit, samples - 1)[off], reached[off], atol=1e-6)
    g = kf.knn_graph(X, n - 1)
    expected = np.take_along_axis(reached, g.indices, axis=1)
    np.testing.assert_allclose(hdbscan._reachability(g, samples - 1), expected, atol=1e-6)
    # a row is as far from several others as its core is: what it joins first would be left open
    ties = np.triu(rng.uniform(0, 1e-4, (n, n)), 1)
    reached -= ties + ties.T
    distances = np.sqrt(np.maximum(2 - 2 * reached, 0)) * (1 - np.eye(n))
    slow = sklearn_cluster.HDBSCAN(min_cluster_size=smallest, min_samples=1, metric="precomputed", copy=True)
    merges = dense_linkage(reached, "single")
    density = 1 / np.sqrt(2 - 2 * merges.similarity.astype(np.float64))
    found = hdbscan.stable_clusters(n, merges.left, merges.right, density, smallest)
    np.testing.assert_array_equal(by_size(found), by_size(slow.fit_predict(distances)))


@pytest.mark.parametrize(("smallest", "samples"), [(2, 2), (5, 1), (5, 5), (10, 15)])
def test_hdbscan_finds_what_scikit_learn_finds(smallest, samples):
    fs = kf.datasets.person_like(24, seed=1, dim=32)
    unit = fs.features.astype(np.float64) / np.linalg.norm(fs.features, axis=1, keepdims=True)
    known = sklearn_cluster.HDBSCAN(min_cluster_size=smallest, min_samples=samples, copy=True).fit_predict(unit)
    found = HDBSCAN(smallest, samples).fit_predict(fs)
    assert kf.metrics.ari(known + 1, found + 1) > 0.97  # but for ties


def test_hdbscan_on_the_graph_of_many_rows_finds_nearly_those_of_all_pairs(monkeypatch):
    fs = kf.datasets.celeb_like(24)
    exact = HDBSCAN().fit_predict(fs)
    monkeypatch.setattr(hdbscan, "EXACT_ROWS", 100)
    assert kf.metrics.ari(exact, HDBSCAN().fit_predict(fs)) > 0.9


def test_components_of_the_graph_are_separate_clusters(reference):
    X = np.concatenate([np.eye(3)[0] + 0.01 * reference.rows(8, 3, 0), np.eye(3)[1] + 0.01 * reference.rows(8, 3, 1)])
    labels = HDBSCAN(4).fit_predict(kf.knn_graph(X, 4))
    np.testing.assert_array_equal(labels, [0] * 8 + [1] * 8)
    assert HDBSCAN(4).fit(np.repeat(np.eye(3), 6, axis=0)).n_clusters_ == 3  # rows that are the same


@pytest.mark.parametrize(
    ("clusterer", "sentence"),
    [
        (HDBSCAN(1), "min_cluster_size must be a whole number from 2 on"),
        (HDBSCAN(5, 0), "min_samples must be a whole number from 1 on"),
        (HDBSCAN(5, 8), "min_samples=8 needs a graph of 7 neighbours, this one has 5"),
    ],
)
def test_wrong_settings_are_named(clusterer, sentence, reference):
    with pytest.raises(kf.InputError, match=sentence):
        clusterer.fit(kf.knn_graph(reference.blobs()[0], 5))


def test_more_samples_than_rows_are_refused():
    with pytest.raises(kf.InputError, match="min_samples=9 are more than the 6 rows"):
        HDBSCAN(2, 9).fit(np.eye(6) + 0.1)
    assert HDBSCAN(9).fit(np.eye(6) + 0.1).n_clusters_ == 0  # the default gives way: no cluster can be so large
