"""K-Means: every row at its nearest centre."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import KMeans


def test_every_row_is_assigned_to_its_nearest_mean(reference):
    X, y = reference.blobs()
    clusterer = KMeans(6, n_init=3).fit(X)
    assert kf.metrics.pairwise(y, clusterer.labels_).f > 0.99
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_array_equal((unit @ clusterer.cluster_centers_.T).argmax(axis=1), clusterer.labels_)
    np.testing.assert_array_equal(clusterer.predict(X), clusterer.labels_)
    np.testing.assert_allclose(np.linalg.norm(clusterer.cluster_centers_, axis=1), 1, atol=1e-5)
    with pytest.raises(kf.InputError, match="n_clusters"):
        KMeans(91).fit(X)
