"""New rows join the most similar cluster, or none."""

import numpy as np

import kinfolk as kf
from kinfolk.cluster._internal.joining import join


def test_against_a_loop():
    fs = kf.datasets.celeb_like(12, seed=0)
    X = np.asarray(fs.features, dtype=np.float32)
    labels = np.unique(fs.labels, return_inverse=True)[1]
    new, known, of_known = X[::5], np.delete(X, np.s_[::5], axis=0), np.delete(labels, np.s_[::5])
    found = join(new, known, of_known, 0.3)
    near = kf.knn_graph(known, 64, queries=new, show_progress=False).indices
    for row, cluster in enumerate(found):
        around = list(dict.fromkeys(of_known[near[row]].tolist()))[:12]
        means = [(known[of_known == c] @ new[row]).mean() for c in around]
        assert cluster == (around[int(np.argmax(means))] if max(means) >= 0.3 else -1)


def test_nobody_is_similar_enough():
    assert join(-np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), np.array([0, 1]), 0.5).tolist() == [-1, -1]
