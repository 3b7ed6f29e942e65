"""Infomap: what is plain, and rows without an edge."""

import sys

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import Infomap


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


def test_a_missing_package_is_named_with_the_command(monkeypatch, reference):
    monkeypatch.setitem(sys.modules, "infomap", None)
    with pytest.raises(kf.MissingExtraError, match=r'pip install "kinfolk\[infomap\]"'):
        Infomap().fit(reference.rows(10, 3, 0))
