"""Clusterings by two other methods, and how they support candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster._internal.candidates import RAW, Candidate
from kinfolk.cluster._internal.survey import survey_of
from kinfolk.cluster._internal.witnesses import METHODS, _all_in_clusters, support, witnesses_of
from kinfolk.features import unit_rows


@pytest.mark.parametrize("n", [2, 3, 4, 7, 40])
def test_sets_of_any_size_have_both(n):
    seen = survey_of(unit_rows(np.random.default_rng(n).standard_normal((n, 6))))
    assert len(seen.witnesses) == len(METHODS)
    for witness in seen.witnesses:
        assert witness.labels.shape == (len(seen.rows),)
        np.testing.assert_array_equal(np.unique(witness.labels), np.arange(witness.labels.max() + 1))


def test_they_find_clear_classes_and_support_them_most():
    truth = np.repeat(np.arange(20), 32)
    X = np.eye(20)[truth] + 0.05 * np.random.default_rng(0).standard_normal((640, 20))
    seen = survey_of(unit_rows(X))
    assert all(kf.metrics.ari(truth[seen.rows], witness.labels) > 0.99 for witness in seen.witnesses)
    found = [kf.metrics.ari(truth[seen.rows], cut.labels) for cut in seen.cuts]
    assert found[int(support(seen.cuts, seen.witnesses).argmax())] > 0.99


def test_they_are_the_same_each_time():
    seen = survey_of(unit_rows(kf.datasets.celeb_like(8, dim=32)))
    for one, other in zip(seen.witnesses, witnesses_of(seen.spaces), strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)


def test_support_against_the_metrics():
    rng = np.random.default_rng(0)
    witnesses = [Candidate(np.unique(rng.integers(0, m, 60), return_inverse=True)[1], RAW) for m in (8, 30)]
    candidates = [Candidate(np.unique(rng.integers(0, m, 60), return_inverse=True)[1], RAW) for m in (2, 9, 50)]

    def f(one: np.ndarray, other: np.ndarray) -> float:
        return (kf.metrics.pairwise(one, other).f + kf.metrics.bcubed(one, other).f) / 2

    for candidate, value in zip(candidates, support(candidates, witnesses), strict=True):
        said = []
        for witness in witnesses:
            trivial = max(f(witness.labels, np.arange(60)), f(witness.labels, np.zeros(60, int)))
            said.append(f(candidate.labels, witness.labels) * (1 - trivial))
        assert value == pytest.approx(max(said), abs=1e-5)


def test_a_witness_of_loners_or_of_one_cluster_says_nothing():
    alone, one = Candidate(np.arange(9), RAW), Candidate(np.zeros(9, dtype=np.int64), RAW)
    np.testing.assert_allclose(support([alone, one, Candidate(np.arange(9) // 3, RAW)], [alone, one]), 0, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-1, 5), min_size=1, max_size=30))
def test_rows_left_out_are_alone(labels):
    found = _all_in_clusters(np.array(labels))
    for i, one in enumerate(labels):
        for j, other in enumerate(labels):
            assert (found[i] == found[j]) == (i == j or (one == other >= 0))
