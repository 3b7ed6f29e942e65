"""What a user knows: votes against candidates, and rows that leave clusters where they must not be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.cluster._internal.constraints import read_constraints
from kinfolk.cluster._internal.corrections import ANSWERS_AS_SURE_AS_THE_JUDGE, kept_apart, violated


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    X = rng.standard_normal((n, 4)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    must = rng.integers(0, n, (rng.integers(0, 6), 2))
    together = read_constraints(n, must).together
    cannot = rng.integers(0, n, (rng.integers(0, 12), 2))
    known = read_constraints(n, must, cannot[together[cannot[:, 0]] != together[cannot[:, 1]]])
    of_unit = rng.integers(0, 4, known.together.max() + 1)
    labels = np.unique(of_unit[known.together], return_inverse=True)[1]
    return X, labels.astype(np.int64), known


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 10**6))
def test_nobody_is_with_a_stranger_and_units_stay_whole(seed):
    X, labels, known = random_case(seed)
    found = kept_apart(X, labels, known, 0.2)
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))
    unit = np.array([found[known.together == u][0] for u in range(known.together.max() + 1)])
    np.testing.assert_array_equal(unit[known.together], found)
    assert (unit[known.apart[:, 0]] != unit[known.apart[:, 1]]).all()
    free = ~np.isin(known.together, known.apart)
    for i in np.flatnonzero(free):  # rows of whom nothing is known stay with each other
        assert ((found[free] == found[i]) == (labels[free] == labels[i])).all()
    assert violated(found, known) == 0


def test_the_less_similar_one_leaves_and_joins_its_kin():
    X = np.array([[1, 0, 0], [1, 0.1, 0], [0.9, 0.1, 0], [0.1, 1, 0], [0, 1, 0], [0, 1, 0.1], [0, 0, 1]])
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    labels = np.array([0, 0, 0, 0, 1, 1, 0])
    found = kept_apart(X, labels, read_constraints(7, cannot_link=[(0, 3), (6, 1)]), 0.5)
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_votes_count_more_the_more_there_are():
    labels = np.array([0, 0, 1, 1])
    few = read_constraints(4, must_link=[(0, 2)], cannot_link=[(1, 0)])
    assert violated(labels, few) == 2 / (2 + ANSWERS_AS_SURE_AS_THE_JUDGE)
    assert violated(labels, read_constraints(4)) == 0
    assert violated(labels, read_constraints(4, [(0, 1)], [(1, 2)])) == 0
