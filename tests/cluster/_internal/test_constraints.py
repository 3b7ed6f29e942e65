"""Constraints against a slow closure, and what is said about wrong ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk import InputError
from kinfolk.cluster._internal.constraints import chain_between, read_constraints

pairs_of = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=8)


def reachable(must: list[tuple[int, int]], n: int) -> np.ndarray:
    """All pairs that a chain of must-links joins: the slow closure of Warshall."""
    reach = np.eye(n, dtype=bool)
    for a, b in must:
        reach[a, b] = reach[b, a] = True
    for k, i, j in itertools.product(range(n), repeat=3):
        reach[i, j] |= reach[i, k] and reach[k, j]
    return reach


@settings(max_examples=300, deadline=None)
@given(pairs_of, pairs_of)
def test_constraints_are_the_closure_or_the_contradiction_is_named(must, cannot):
    cannot = [(a, b) for a, b in cannot if a != b]
    reach = reachable(must, 10)
    wrong = [(a, b) for a, b in cannot if reach[a, b]]
    if wrong:
        with pytest.raises(InputError, match=rf"rows {wrong[0][0]} and {wrong[0][1]} are in cannot_link"):
            read_constraints(10, must, cannot)
        return
    together, apart = read_constraints(10, must, cannot)
    np.testing.assert_array_equal(together[:, None] == together, reach)
    first = [together.tolist().index(number) for number in range(together.max() + 1)]
    assert first == sorted(first)
    assert {tuple(pair) for pair in apart.tolist()} == {tuple(sorted(together[[a, b]].tolist())) for a, b in cannot}
    assert len({tuple(pair) for pair in apart.tolist()}) == len(apart)


@settings(max_examples=200, deadline=None)
@given(pairs_of, st.integers(0, 9), st.integers(0, 9))
def test_a_chain_leads_from_one_row_to_the_other_by_given_pairs(must, start, end):
    if not reachable(must, 10)[start, end]:
        return
    chain, row = chain_between(np.array(must, dtype=np.int64).reshape(-1, 2), start, end), start
    for a, b in chain:
        assert (a, b) in must
        assert row in (a, b)
        row = b if row == a else a
    assert row == end
    shorter = [list(c) for size in range(len(chain)) for c in itertools.combinations(set(must), size)]
    assert not any(reachable(links, 10)[start, end] for links in shorter[:200])


def test_a_contradiction_names_its_chain_in_one_sentence():
    with pytest.raises(InputError) as error:
        read_constraints(9, [(0, 1), (2, 1), (7, 8), (3, 2), (0, 2)], [(5, 6), (0, 3), (1, 3)])
    assert str(error.value) == (
        "rows 0 and 3 are in cannot_link, but must_link joins them by (0, 2), (3, 2); remove one of these pairs"
        " (1 more in cannot_link like them)"
    )


@pytest.mark.parametrize(
    ("must", "cannot", "said"),
    [
        ([(0, 4)], None, r"must_link has the pair \(0, 4\), but the rows are numbered from 0 to 3"),
        ([(0, 1), (-1, 2)], None, r"must_link has the pair \(-1, 2\)"),
        ([(0, 1.5)], None, "must_link must name rows by whole numbers from 0 to 3"),
        ([("a", "b")], None, "whole numbers from 0 to 3, not by 'a'"),
        ([(0, 2**70)], None, "whole numbers from 0 to 3, not by 1180591620717411303424"),
        ([(0, 1), (2,)], None, r"must_link must be pairs of row numbers, such as \[\(0, 1\), \(4, 7\)\], not"),
        ([0, 1], None, "must_link must be pairs of row numbers"),
        (7, None, "must_link must be pairs of row numbers"),
        (None, [(0, 1, 2)], "cannot_link must be pairs of row numbers"),
        (None, [(0, 1), (2, 2)], "cannot_link keeps row 2 apart from itself: remove pair 1"),
    ],
)
def test_wrong_pairs_are_refused(must, cannot, said):
    with pytest.raises(InputError, match=said):
        read_constraints(4, must, cannot)


@pytest.mark.parametrize("pairs", [None, [], np.empty((0, 2)), (), [[0, 1]], {(1, 0)}, np.array([[0, 1]], np.uint8)])
def test_pairs_may_be_given_in_many_ways(pairs):
    together, apart = read_constraints(3, must_link=pairs)
    assert together.tolist() in ([0, 1, 2], [0, 0, 1])
    assert apart.shape == (0, 2)
