"""Clusterings by other methods, as the judge hears them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster._internal.survey import survey_of
from kinfolk.cluster._internal.witnesses import COUNT, _all_in_clusters, witnesses_of
from kinfolk.features import unit_rows


@pytest.mark.parametrize("n", [2, 3, 4, 7, 40])
def test_sets_of_any_size_have_all_of_them(n):
    seen = survey_of(unit_rows(np.random.default_rng(n).standard_normal((n, 6))))
    assert len(seen.witnesses) == COUNT
    for witness in seen.witnesses:
        assert witness.labels.shape == (len(seen.rows),)
        np.testing.assert_array_equal(np.unique(witness.labels), np.arange(witness.labels.max() + 1))


def test_on_clear_classes_they_agree():
    truth = np.repeat(np.arange(20), 32)
    X = np.eye(20)[truth] + 0.05 * np.random.default_rng(0).standard_normal((640, 20))
    seen = survey_of(unit_rows(X))
    found = [kf.metrics.ari(truth[seen.rows], witness.labels) for witness in seen.witnesses]
    assert sum(value > 0.99 for value in found) >= 4


def test_they_are_the_same_for_the_same_seed():
    seen = survey_of(unit_rows(kf.datasets.celeb_like(8, dim=32)))
    for one, other in zip(seen.witnesses, witnesses_of(seen.spaces, 0), strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-1, 5), min_size=1, max_size=30))
def test_rows_left_out_are_alone(labels):
    given_ones = np.array(labels)
    found = _all_in_clusters(given_ones)
    for i, one in enumerate(labels):
        for j, other in enumerate(labels):
            assert (found[i] == found[j]) == (i == j or (one == other >= 0))
