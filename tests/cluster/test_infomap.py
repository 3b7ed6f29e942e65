"""Infomap: what is plain, and rows without an edge."""

import sys

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import Infomap
from kinfolk.kinship.choose_k import choose_k


def test_well_separated_classes_are_found(reference):
    X, y = reference.blobs()
    assert kf.metrics.bcubed(y, Infomap(k=8).fit_predict(X)).f > 0.95


def test_rows_without_an_edge_are_clusters_of_one(reference):
    X = np.concatenate([reference.blobs()[0], -np.ones((1, 12))])
    labels = Infomap(k=5, threshold=0.5).fit_predict(X)
    assert np.count_nonzero(labels == labels[-1]) == 1
    assert Infomap(k=5, threshold=2.0).fit(X).n_clusters_ == 91
    assert Infomap(k=5, threshold=None).fit(X).n_clusters_ < 91
    with pytest.raises(kf.InputError, match="threshold"):
        Infomap(threshold="some").fit(X)


def test_k_is_the_most_closed_neighbourhood():
    rows = np.eye(12).repeat(30, axis=0) + 0.15 * np.random.default_rng(0).standard_normal((360, 12))
    clusterer = Infomap().fit(rows)
    chosen = choose_k(kf.knn_graph(rows, 80))
    assert clusterer.graph_.k == chosen
    np.testing.assert_array_equal(clusterer.labels_, Infomap(k=chosen).fit_predict(rows))
    np.testing.assert_array_equal(clusterer.labels_, Infomap().fit_predict(kf.knn_graph(rows, 80)))
    assert Infomap().fit(rows[:3]).graph_.k == 2  # too few to choose from
    with pytest.raises(kf.InputError, match="k must be"):
        Infomap(k="some").fit(rows)


def test_a_missing_package_is_named_with_the_command(monkeypatch, reference):
    monkeypatch.setitem(sys.modules, "infomap", None)
    with pytest.raises(kf.MissingExtraError, match=r'pip install "kinfolk\[infomap\]"'):
        Infomap().fit(reference.rows(10, 3, 0))
