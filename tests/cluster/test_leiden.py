"""Leiden: what is plain, and igraph's modularity."""

import sys

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import Leiden


@pytest.mark.parametrize("clusterer", [Leiden(k=8), Leiden(k=8, objective="cpm", resolution=0.3)], ids=str)
def test_well_separated_classes_are_found(clusterer, reference):
    X, y = reference.blobs()
    assert kf.metrics.bcubed(y, clusterer.fit_predict(X)).f > 0.95


def test_modularity_reaches_that_of_igraph(reference):
    g = kf.knn_graph(reference.blobs(noise=0.4)[0], 8)
    pytest.importorskip("igraph")
    graph = g.to_igraph()
    weights = np.maximum(graph.es["weight"], 0)
    ours = graph.modularity(Leiden(k=8, iterations=-1).fit_predict(g), weights=weights)
    assert ours >= graph.community_multilevel(weights=weights).modularity - 0.01


def test_a_missing_package_is_named_with_the_command(monkeypatch, reference):
    monkeypatch.setitem(sys.modules, "leidenalg", None)
    with pytest.raises(kf.MissingExtraError, match=r'pip install "kinfolk\[leiden\]"'):
        Leiden().fit(reference.rows(10, 3, 0))


@pytest.mark.parametrize(
    ("settings", "name"), [(dict(objective="size"), "objective"), (dict(resolution=0), "resolution")]
)
def test_wrong_settings_are_named(settings, name):
    with pytest.raises(kf.InputError, match=f"{name} must be"):
        Leiden(**settings).fit(np.eye(4))
