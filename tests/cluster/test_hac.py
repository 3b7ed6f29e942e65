"""HAC: exact on few rows, on the graph beyond."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import HAC
from kinfolk.cluster.hac import dense_linkage


@pytest.mark.parametrize("linkage", ["single", "average", "complete"])
def test_few_rows_are_linked_exactly(reference, linkage):
    X = np.abs(reference.rows(30, 5, 1))  # positive cosines: the definition stops at zero
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    _, partitions = reference.agglomerate(unit @ unit.T, linkage)
    for clusters in (2, 5, 20):
        assert reference.same_partition(HAC(clusters, linkage=linkage).fit_predict(X), partitions[30 - clusters - 1])


def test_hac_on_the_whole_graph_is_exact_hac(reference):
    X = np.abs(reference.rows(40, 6, 2))
    for linkage in ("single", "average", "complete"):
        exact = HAC(linkage=linkage, threshold=0.8, k=39).fit_predict(X)
        on_graph = HAC(linkage=linkage, threshold=0.8, k=39).fit_predict(kf.knn_graph(X, 39))
        assert reference.same_partition(exact, on_graph)


def test_a_cluster_is_named_by_any_of_its_rows():
    merges = dense_linkage(np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]]), "average")
    assert {int(merges.left[0]), int(merges.right[0])} == {0, 1}
    assert 2 in (merges.left[1], merges.right[1])
    np.testing.assert_allclose(merges.similarity, [0.9, 0.15], atol=1e-6)


def test_wrong_settings_are_named(reference):
    X = reference.rows(20, 4, 0)
    for chosen, words in (
        (dict(n_clusters=0), "n_clusters"),
        (dict(n_clusters=3, threshold=0.5), "not both"),
        (dict(linkage="ward"), "linkage"),
        (dict(threshold="low"), "threshold"),
    ):
        with pytest.raises(kf.InputError, match=words):
            HAC(**chosen).fit(X)
    g = kf.knn_graph(np.repeat(np.eye(4), 5, axis=0) + 0.01 * np.abs(reference.rows(20, 4, 0)), 2)
    with pytest.warns(UserWarning, match="are not reached"):
        HAC(n_clusters=1, k=2).fit(g)
