"""Estimates on a labelled graph."""

import numpy as np
import pytest

import kinfolk as kf


def naive(g, y, cosine):
    n = len(g)
    passed = {True: [], False: []}
    common, own = [], []
    for i in range(n):
        for a, j in enumerate(g.indices[i]):
            passed[bool(y[i] == y[j])].append(g.similarities[i, a] >= cosine)
            both = set(g.indices[i]) & set(g.indices[j])
            common.append(len(both))
            own.append(sum(y[c] == y[i] for c in both))
    return np.mean(passed[True]), np.mean(passed[False]), sum(own) / sum(common), np.mean(common)


def test_p_q_alpha_and_m_equal_a_loop_over_sets():
    fs = kf.datasets.person_like(12, seed=2)
    g = kf.knn_graph(fs, k=12)
    e = kf.theory.estimate(g, fs.labels)
    np.testing.assert_allclose((e.p, e.q, e.alpha, e.m), naive(g, fs.labels, e.threshold), rtol=1e-6)
    given = kf.theory.estimate(g, fs.labels, threshold=0.5)
    np.testing.assert_allclose((given.p, given.q), naive(g, fs.labels, 0.5)[:2], rtol=1e-6)


def test_the_condition_holds_where_classes_are_large_and_fails_where_k_is_too_large():
    fs = kf.datasets.celeb_like(120, seed=0)
    g = kf.knn_graph(fs, k=160)
    small = kf.theory.estimate(g.restrict(20), fs.labels)
    assert small.holds
    assert small.needed_exact < small.needed
    assert sum(small.predicted) < sum(small.one_test)
    assert "the condition holds" in str(small)
    large = kf.theory.estimate(g, fs.labels)
    assert not large.holds
    assert "FAILS" in str(large)
    assert large.predicted is None


def test_a_graph_without_noise_cannot_be_estimated():
    g = kf.knn_graph(np.eye(4).repeat(3, axis=0), k=2)
    with pytest.raises(kf.InputError, match="without both kinds"):
        kf.theory.estimate(g, np.arange(4).repeat(3))


def test_the_labelled_threshold_lies_between_the_means_of_both_kinds_of_edges():
    fs = kf.datasets.celeb_like(60, seed=0)
    g = kf.knn_graph(fs, k=20)
    same = fs.labels[g.indices] == fs.labels[:, None]
    cleaner = kf.prune(g, kf.theory.labelled_threshold(g, fs.labels), y=fs.labels)
    assert cleaner.scores[~same].mean() < cleaner.threshold < cleaner.scores[same].mean()
    assert cleaner.noise_after < cleaner.noise_before


def test_two_threads_count_what_one_counts(monkeypatch):
    fs = kf.datasets.person_like(12, seed=2)
    g = kf.knn_graph(fs, k=12)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(kf.theory.estimate(g, fs.labels))
    assert found[0] == found[1]
