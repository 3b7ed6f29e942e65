"""The recall of a sample, and the largest share that reaches it."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.neighbors import _recall
from kinfolk.neighbors._recall import largest_share, sample_truth


def test_the_truth_of_a_sample_is_that_of_exact_search(monkeypatch, clustered):
    monkeypatch.setattr(_recall, "SAMPLE", 20)
    X = kf.features.unit_rows(clustered(80, 5))
    sample, own_rows, truth = sample_truth(X, None, 6, seed=0)
    assert len(set(own_rows.tolist())) == 20
    np.testing.assert_array_equal(sample, X[own_rows])
    np.testing.assert_array_equal(truth, np.argsort(-(sample @ X.T), axis=1)[:, :6])
    np.testing.assert_array_equal(truth[:, 0], own_rows)
    queries = X[:7]
    sample, own_rows, truth = sample_truth(X, queries, 3, seed=0)
    assert own_rows.tolist() == [-1] * 7
    np.testing.assert_array_equal(truth[:, 0], np.arange(7))


@pytest.mark.parametrize("wanted", [0.3, 0.7, 0.95, 1.0])
def test_no_larger_share_reaches_the_recall(wanted):
    rng = np.random.default_rng(0)
    shares, counts = rng.random((60, 5)).round(2), rng.random((60, 5)) < 0.8
    counts[:, 0] = True
    share, recall = largest_share(shares, counts, wanted)
    reaching = []
    for level in np.unique(shares[counts]):
        recalls = ((shares >= level) & counts).sum(axis=1) / counts.sum(axis=1)
        if recalls.mean() - recalls.std() / np.sqrt(60) >= wanted:
            reaching.append((level, recalls.mean()))
    assert (share, recall) == pytest.approx(max(reaching))
