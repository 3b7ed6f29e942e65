"""Two halves of the features: they hold what the whole holds, and they agree up to the classes and not beyond."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster._internal.candidates import RAW, Candidate, agreement
from kinfolk.cluster._internal.halves import COUNT, halves_of, split
from kinfolk.cluster._internal.spaces import centred


@pytest.fixture(scope="module")
def classes():
    """40 classes of 12 rows whose centres have nothing in common."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(40), 12)
    X = (rng.standard_normal((40, 64))[truth] + 0.6 * rng.standard_normal((480, 64))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    C = centred(X, X.mean(axis=0))
    return truth, C, kf.knn_graph(C, 64, show_progress=False)


@given(n=st.integers(1, 9), d=st.integers(1, 40), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_both_halves_together_are_the_whole_turned(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    halves = split(X / np.linalg.norm(X, axis=1, keepdims=True))
    assert [half.shape for half in halves] == [(n, max(1, d // 2))] * 2
    for half in halves:
        np.testing.assert_allclose(np.linalg.norm(half, axis=1), 1, atol=1e-5)


def test_similarities_of_the_halves_are_those_of_the_whole_with_noise(classes):
    _, C, _ = classes
    whole = C @ C.T
    for half in split(C):
        assert np.corrcoef((half @ half.T).ravel(), whole.ravel())[0, 1] > 0.7


def test_the_halves_agree_up_to_the_classes_and_part_beyond(classes):
    truth, C, g = classes
    halves = halves_of(C, g)
    at = int(np.abs(halves.clusters - 40).argmin())
    beyond = int(np.abs(halves.clusters - 8).argmin())
    assert halves.alike[at] > 0.8
    assert halves.alike[beyond] < 0.5
    own, other = Candidate(truth, RAW), Candidate(np.random.default_rng(0).permutation(truth), RAW)
    seen = halves.describe([own, other])
    assert seen.shape == (2, COUNT)
    assert np.isfinite(seen).all()
    expected = sorted(agreement([own], half).max() for half in halves.cuts)
    np.testing.assert_allclose(seen[0, :2], expected)
    assert seen[0, 1] > 0.85
    assert seen[1, 1] < 0.3
    assert 0 < halves.noise < 1


def test_rows_that_the_halves_keep_together_against_sets(classes):
    truth, C, g = classes
    halves = halves_of(C, g)
    found = halves.kept_together(truth)
    expected = np.zeros((len(truth), 2))
    for half in halves.cuts:
        best = max(
            (c.labels for c in half), key=lambda labels: agreement([Candidate(truth, RAW)], [Candidate(labels, RAW)])
        )
        for i in range(len(truth)):
            own, theirs = set(np.flatnonzero(truth == truth[i])), set(np.flatnonzero(best == best[i]))
            expected[i] += [len(own & theirs) / len(own) / 2, len(own & theirs) / len(theirs) / 2]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_sets_of_few_rows(n):
    X = np.eye(n, 3, dtype=np.float32) + np.float32(0.1)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    halves = halves_of(X, kf.knn_graph(X, n - 1, show_progress=False))
    assert np.isfinite(halves.describe([Candidate(np.arange(n), RAW)])).all()
    assert halves.kept_together(np.zeros(n, dtype=np.int64)).shape == (n, 2)
