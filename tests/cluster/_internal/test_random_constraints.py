"""Thousands of random sets of constraints: every cut of a tree honours all that follows, and named chains are real."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster._internal.agglomerate import agglomerate, tree_through
from kinfolk.cluster._internal.constraints import Constraints, read_constraints
from kinfolk.cluster._internal.distinct import among_distinct
from kinfolk.cluster._internal.tree import Tree, tree_of
from kinfolk.cluster._internal.union_find import connected

ROWS = 16
Pairs = list[tuple[int, int]]
pairs_of = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS - 1)), max_size=14)


def closure(must: Pairs) -> np.ndarray:
    """The slow closure: whether a chain of must-links joins two rows (n, n)."""
    reach = np.eye(ROWS, dtype=bool)
    for a, b in must:
        reach |= np.outer(reach[:, a] | reach[:, b], reach[a] | reach[b])
    return reach


def forbidden(reach: np.ndarray, cannot: Pairs) -> np.ndarray:
    """All pairs (n, n) that must be apart: each row of a class from each of another."""
    result = np.zeros((ROWS, ROWS), dtype=bool)
    for a, b in cannot:
        result |= np.outer(reach[a], reach[b]) | np.outer(reach[b], reach[a])
    return result


def some_copies(known: Constraints, rng: np.random.Generator) -> np.ndarray:
    """Which thing each row (n,) shows: some rows that nothing is kept apart from are copies."""
    free = np.flatnonzero(~np.isin(known.together, known.apart))
    one, other = (rng.choice(free, len(free) // 3) if len(free) else free for _ in range(2))
    return np.unique(connected(ROWS, one, other), return_inverse=True)[1]


def grown(known: Constraints, rng: np.random.Generator) -> Tree:
    """A tree as Kin grows it, freely or through clusters of another one."""
    copy_of = some_copies(known, rng)
    rows = np.unique(copy_of, return_index=True)[1]
    inner = among_distinct(known, copy_of)
    X = rng.standard_normal((len(rows), 3)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    nearest = np.argsort(-X @ X.T, axis=1, kind="stable")[:, 1 : rng.integers(2, 12)].astype(np.int32)
    merges = agglomerate(X, nearest, together=inner.together, apart=inner.apart)
    count = int(rng.integers(0, len(merges.left) + 1))
    inside, between = merges.split(count)
    if rng.random() < 0.5:
        Y = rng.standard_normal(X.shape).astype(np.float32)
        Y /= np.linalg.norm(Y, axis=1, keepdims=True)
        first = np.unique(inner.together, return_index=True)[1]
        built = connected(len(X), np.r_[inside.left, np.arange(len(X))], np.r_[inside.right, first[inner.together]])
        labels = np.unique(built, return_inverse=True)[1]
        inside, between = tree_through(Y, nearest, labels, together=inner.together, apart=inner.apart)
    first = np.unique(known.together, return_index=True)[1]
    everyone = np.arange(ROWS)
    pairs = (np.r_[everyone, everyone], np.r_[first[known.together], rows[copy_of]])
    return tree_of(inside, between, rows, pairs, 4.0, ROWS)


@settings(max_examples=2000, deadline=None)
@given(pairs_of, pairs_of, st.integers(0, 10**6))
def test_every_cut_of_a_tree_honours_what_follows_from_the_constraints(must, cannot, seed):
    reach = closure(must)
    cannot = [(a, b) for a, b in cannot if not reach[a, b]]
    tree = grown(read_constraints(ROWS, must, cannot), np.random.default_rng(seed))
    never = forbidden(reach, cannot)
    for probability in {0.0, 0.5, 1.0, *tree.probability.tolist()}:
        found = tree.cut(probability)
        same = found[:, None] == found
        assert same[reach].all(), "rows that must be together are apart"
        assert not same[never].any(), "rows that must be apart are together"
    most = int(reach.sum(axis=1).max())
    limited = tree.limited(most).cut(0)
    assert np.bincount(limited).max() <= most
    assert (limited[:, None] == limited)[reach].all()
    assert not (limited[:, None] == limited)[never].any()


@settings(max_examples=3000, deadline=None)
@given(pairs_of, pairs_of)
def test_the_chain_of_a_contradiction_is_real_and_of_given_pairs(must, cannot):
    reach = closure(must)
    cannot = [(a, b) for a, b in cannot if a != b]
    if not any(reach[a, b] for a, b in cannot):
        together, apart = read_constraints(ROWS, must, cannot)
        np.testing.assert_array_equal(together[:, None] == together, reach)
        never = np.zeros_like(reach)
        for a, b in apart:
            never |= np.outer(together == a, together == b) | np.outer(together == b, together == a)
        np.testing.assert_array_equal(never, forbidden(reach, cannot))
        return
    with pytest.raises(kf.InputError) as error:
        read_constraints(ROWS, must, cannot)
    start, end, pairs = re.fullmatch(
        r"rows (\d+) and (\d+) are in cannot_link, but must_link joins them by (.*); remove one of these pairs.*",
        str(error.value),
    ).groups()
    chain = [(int(a), int(b)) for a, b in re.findall(r"\((\d+), (\d+)\)", pairs)]
    row, end = int(start), int(end)
    assert (row, end) in cannot
    assert chain and set(chain) <= set(must)
    for a, b in chain:
        assert row in (a, b)
        row = b if row == a else a
    assert row == end, "the chain leads from one row to the other"
