"""What counts as one thing: exact copies, near copies, and what constraints forbid."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster._internal.constraints import read_constraints
from kinfolk.cluster._internal.distinct import among_distinct, exact_copies, free_rows
from kinfolk.cluster._internal.union_find import connected
from kinfolk.features import unit_rows
from kinfolk.neighbors.copies import near_copies


def things(X, known):
    """Return where each distinct thing first stands and which one each row shows, as Kin finds them."""
    unit = unit_rows(X)
    rows, copy_of = exact_copies(unit, known)
    inner = among_distinct(known, copy_of)
    g = kf.knn_graph(unit[rows], min(64, len(rows) - 1), show_progress=False)
    first, which, _ = near_copies(g.indices, g.similarities, free_rows(inner))
    return rows[first], which[copy_of]


def number(X, **pairs):
    return things(X, read_constraints(len(X), **pairs))[1]


def test_bursts_are_found_and_others_are_not_joined():
    fs = kf.datasets.celeb_like(15, seed=0)
    rng = np.random.default_rng(0)
    copied = rng.choice(len(fs), 30, replace=False)
    noise = rng.standard_normal((30, fs.features.shape[1])) * 0.002
    found = number(np.concatenate([fs.features, fs.features[copied] + noise]))
    assert (found[len(fs) :] == found[copied]).all()
    assert len(np.unique(found[: len(fs)])) > 0.98 * len(fs)  # the set has a few of its own


def test_numbers_follow_first_rows():
    rows = np.repeat(np.random.default_rng(0).standard_normal((9, 5)), 3, axis=0)[::-1]
    assert number(rows).tolist() == np.repeat(np.arange(9), 3).tolist()


def test_rows_that_are_kept_apart_are_not_collapsed():
    rows = np.repeat(np.eye(4), 3, axis=0)
    found = number(rows, cannot_link=[(0, 1)])
    assert found[0] != found[1]
    assert found[3] == found[4] == found[5]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6))
def test_constraints_on_rows_hold_for_what_they_show(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3))[rng.integers(0, 12, 30)]
    must, cannot = rng.integers(0, 30, (6, 2)), rng.integers(0, 30, (4, 2))
    together = read_constraints(30, must).together
    cannot = cannot[together[cannot[:, 0]] != together[cannot[:, 1]]]
    known = read_constraints(30, must, cannot)
    rows, copy_of = exact_copies(unit_rows(X), known)
    assert rows.tolist() == np.unique(copy_of, return_index=True)[1].tolist()
    inner = among_distinct(known, copy_of)
    of_row = inner.together[copy_of]
    assert (of_row[must[:, 0]] == of_row[must[:, 1]]).all()
    pairs = {tuple(pair) for pair in inner.apart.tolist()}
    assert pairs == {tuple(sorted(pair)) for pair in of_row[cannot].tolist()}
    # nothing else is together: the closure of copies and must_link
    slow = connected(
        30, np.r_[must[:, 0], np.arange(30)], np.r_[must[:, 1], np.unique(copy_of, return_index=True)[1][copy_of]]
    )
    assert len(np.unique(slow)) == len(np.unique(of_row))


def test_exact_copies_against_a_dictionary():
    rows = np.random.default_rng(0).integers(-1, 2, (200, 3)).astype(np.float32) * np.float32(-0.5)
    seen: dict[tuple[float, ...], int] = {}
    expected = [seen.setdefault(tuple(row), len(seen)) for row in rows.tolist()]
    first, copy_of = exact_copies(rows, read_constraints(200))
    assert copy_of.tolist() == expected
    assert first.tolist() == [expected.index(number) for number in range(len(seen))]
