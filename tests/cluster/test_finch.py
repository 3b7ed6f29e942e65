"""FINCH against full similarity matrices."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import Finch


def test_finch_is_the_naive_one_at_every_level(reference):
    for seed in range(3):
        X = reference.rows(70, 5, seed)
        found, expected = Finch().fit(X).partitions_, reference.finch(X)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert reference.same_partition(ours, theirs)
    X = reference.rows(70, 5, 0)
    partitions = Finch().fit(X).partitions_
    np.testing.assert_array_equal(Finch(level=-1).fit_predict(X), partitions[-1])
    np.testing.assert_array_equal(Finch(level=-len(partitions)).fit_predict(X), partitions[0])
    assert Finch().fit([[1.0, 0], [-1.0, 0]]).n_clusters_ == 1  # a mean of zero length


@pytest.mark.parametrize("level", [3, 9, -4])
def test_a_level_that_is_not_there_is_refused(reference, level):
    X = reference.rows(70, 5, 0)
    assert len(Finch().fit(X).partitions_) == 3
    with pytest.raises(kf.InputError, match=f"level must lie between -3 and 2 for these rows, not {level}"):
        Finch(level).fit(X)
    assert Finch().fit(X[:3]).n_clusters_ == 1  # the default gives way: there is one partition only


@pytest.mark.parametrize("level", [1.5, True, "coarse"])
def test_the_level_is_a_whole_number(level):
    with pytest.raises(kf.InputError, match="level must be a whole number"):
        Finch(level).fit(np.eye(4))
