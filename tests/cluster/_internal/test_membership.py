"""How surely rows are where they are: what is known of them, and that doubt falls on the wrong ones."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import kinfolk as kf
from kinfolk.cluster._internal.halves import halves_of
from kinfolk.cluster._internal.membership import COUNT, describe_rows, membership, whole


@pytest.fixture(scope="module")
def mixed():
    fs = kf.datasets.celeb_like(25, seed=0)
    X = np.asarray(fs.features, dtype=np.float32)
    g = kf.knn_graph(X, 64, show_progress=False)
    truth = np.unique(fs.labels, return_inverse=True)[1]
    labels = truth.copy()
    wrong = np.random.default_rng(0).choice(len(X), len(X) // 10, replace=False)
    labels[wrong] = np.random.default_rng(1).permutation(labels[wrong])
    halves = halves_of(X, g)
    return whole(X, g.indices, g.similarities), (halves, halves), truth, labels


def test_inputs_are_finite_for_any_clustering(mixed):
    seen, halves, truth, _ = mixed
    n = len(truth)
    for labels in (truth, np.arange(n), np.zeros(n, dtype=np.int64)):
        inputs, second = describe_rows(seen, seen, halves, labels, -0.1)
        assert inputs.shape == (n, COUNT)
        assert np.isfinite(inputs).all()
        assert ((second != labels) & (second < labels.max() + 1)).all()


def test_the_second_choice_is_the_most_similar_of_the_other_clusters_around(mixed):
    seen, halves, truth, labels = mixed
    second = membership(seen, seen, halves, labels, -0.1).second
    means = np.stack([seen.X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    for row in range(0, len(labels), 7):
        around = [c for c in dict.fromkeys(labels[seen.indices[row]].tolist()) if c != labels[row]][:12]
        assert second[row] == max(around, key=lambda c: means[c] @ seen.X[row])
    wrong = labels != truth
    assert (second[wrong] == truth[wrong]).mean() > 0.85  # faces of this set are not all nearest to their own kin


def test_doubt_falls_on_rows_that_are_wrong(shared_data):
    fs = kf.load(shared_data / "market1501.npz").part("train")
    kin = kf.cluster.Kin().fit(fs)
    _, truth = np.unique(fs.labels, return_inverse=True)
    main = np.array([np.bincount(truth[kin.labels_ == c]).argmax() for c in range(kin.n_clusters_)])
    right = main[kin.labels_] == truth
    assert roc_auc_score(right, kin.probabilities_) > 0.65
    assert abs(kin.probabilities_.mean() - right.mean()) < 0.15
