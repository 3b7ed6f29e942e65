"""DBSCAN against scikit-learn's on the same edges."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster as sklearn_cluster

import kinfolk as kf
from kinfolk.cluster import DBSCAN


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("eps", "samples"), [(0.1, 3), (0.25, 5), (0.5, 2), (0.02, 1)])
def test_dbscan_is_that_of_scikit_learn_on_the_same_edges(reference, seed, eps, samples):
    g = kf.knn_graph(np.concatenate([reference.rows(60, 4, seed), reference.blobs(4, 15, 0.1, seed)[0][:, :4]]), 12)
    graph = g.symmetric("union")
    distances = sparse.csr_array((np.maximum(1 - graph.data, 0), graph.indices, graph.indptr), shape=graph.shape)
    theirs = sklearn_cluster.DBSCAN(eps=eps, min_samples=samples, metric="precomputed").fit(
        sparse.csr_matrix(distances)
    )
    ours = DBSCAN(eps, samples, k=12).fit(g)
    core = np.zeros(len(g), dtype=bool)
    core[theirs.core_sample_indices_] = True
    np.testing.assert_array_equal(ours.core_, core)
    assert reference.same_partition(ours.labels_[core], theirs.labels_[core])
    np.testing.assert_array_equal(ours.labels_ < 0, theirs.labels_ < 0)
    # rows at the edge of two clusters may go to either: ours to the most similar core row
    S = graph.toarray()
    for i in np.flatnonzero(~core & (ours.labels_ >= 0)):
        assert ours.labels_[i] == ours.labels_[np.where(core, S[i], -2).argmax()]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (dict(eps=-1), "eps must be a number from 0 on"),
        (dict(min_samples=0), "min_samples must be a whole number from 1 on"),
        (dict(min_samples=9, k=5), "min_samples=9 needs a k of 8 or more, not 5"),
    ],
)
def test_wrong_settings_are_named(settings, sentence):
    with pytest.raises(kf.InputError, match=sentence):
        DBSCAN(**settings).fit(np.eye(12))


def test_more_samples_than_rows_make_everything_noise():
    assert DBSCAN(eps=2.0, min_samples=5).fit_predict(np.eye(3)).tolist() == [-1, -1, -1]
    with pytest.raises(kf.InputError, match="min_samples=5 needs a graph of 4 neighbours, this one has 3"):
        DBSCAN(eps=2.0).fit(kf.knn_graph(np.eye(6) + 0.1, 3))  # which cannot tell who is dense
