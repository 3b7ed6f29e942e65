"""Claims: intervals against the textbook formulas, verdicts against the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kinfolk.experiments.claims import ClaimSource, SeededScore, best, comparable, deviations, higher
from kinfolk.experiments.feature_methods import ORIGINAL
from kinfolk.experiments.feature_quality import Quality
from kinfolk.experiments.generated_sets import PERSONS
from kinfolk.experiments.task_cells import ScoredCell, TaskCell

seeds = st.dictionaries(st.integers(0, 5), st.floats(-100, 100), min_size=1, max_size=6)
SOURCE = ClaimSource("Table 2", "mAP", "digits")


def made(*values, draws=None, generated=True):
    drawn = None if draws is None else dict.fromkeys(range(len(values)), np.array(draws))
    return SeededScore(dict(enumerate(map(float, values))), drawn, generated)


@given(seeds, seeds)
def test_generated_sets_are_paired_by_their_seeds_and_have_the_paired_t_interval(first, second):
    difference = SeededScore(first, generated=True) - SeededScore(second, generated=True)
    common = sorted(first.keys() & second.keys())
    paired = np.array([first[seed] - second[seed] for seed in common])
    assert list(difference.values) == common
    if len(common) < 2 or stats.sem(paired) == 0:
        assert difference.interval() is None
        return
    low, high = difference.interval()
    reach = stats.t.ppf(0.975, len(paired) - 1) * paired.std(ddof=1) / np.sqrt(len(paired))
    assert (low, high) == pytest.approx((paired.mean() - reach, paired.mean() + reach), abs=1e-9)


def test_verdicts():
    assert made(1.0, 1.1, 0.9).verdict() == "holds"
    assert made(-1.0, -1.1, -0.9).verdict() == "does not hold"
    assert made(1.0, -1.1, 0.9).verdict() == "undecided"
    assert made(5.0).verdict() == "undecided" and "no interval" in str(made(5.0))
    assert made(5.0, 5.0, 5.0).verdict() == "undecided"  # the same run thrice decides nothing
    assert made(1.0, 1.6, 1.3).verdict() == "holds" and made(1.0, 1.6, 1.3).verdict(comparisons=30) == "undecided"


def test_one_seed_is_decided_by_its_identities_and_says_so():
    drawn = np.append(np.linspace(-1, 1, 99), np.nan)  # a draw without a score is left out
    assert made(2.0, draws=drawn).verdict() == "holds"
    assert made(0.5, draws=drawn).verdict() == "undecided"
    assert "identities alone" in str(made(2.0, draws=drawn))
    assert made(2.0, draws=[np.nan, np.nan, 0.0]).verdict() == "holds"


def test_given_sets_have_both_the_identities_and_the_seeds_in_their_interval():
    drawn = np.linspace(-1, 1, 1001)
    by_identities, by_seeds = made(2.0, draws=drawn, generated=False), made(1.9, 2.0, 2.1)
    both = made(1.9, 2.0, 2.1, draws=drawn, generated=False)
    one, two, three = (e.interval()[1] - e.mean for e in (by_identities, by_seeds, both))
    assert three == pytest.approx(np.hypot(one, two), rel=1e-6)
    assert made(1.9, 2.0, 2.1, generated=False).verdict() == "undecided"  # seeds do not vary the identities


def test_a_run_that_has_nothing_random_goes_with_every_seed_of_a_given_set_only():
    alone = made(1.0, generated=False)
    assert (made(3.0, 4.0, generated=False) - alone).values == {0: 2.0, 1: 3.0}
    assert (alone - made(3.0, 4.0, generated=False)).values == {0: -2.0, 1: -3.0}
    assert (made(3.0, 4.0) - made(1.0)).values == {0: 2.0}
    assert (-made(3.0, draws=[1.0, 2.0])).draws[0].tolist() == [-1.0, -2.0]


def test_evidence_of_cells_has_centred_draws():
    rows = []
    for seed, score in ((1, 70.0), (0, 60.0)):
        cell = TaskCell(PERSONS, ORIGINAL, Quality(5), seed)
        found = dict(chosen={}, trained=False, seconds=0.0, fit_seconds=0.0, draws=dict(map=[0.0, 2.0 + 2 * seed]))
        rows.append(ScoredCell.of(cell, "", scores=dict(map=score, auc=50.0), **found))
    evidence = SeededScore.of(rows, "map")
    assert evidence.values == {1: 70.0, 0: 60.0} and evidence.generated
    assert [evidence.draws[seed].tolist() for seed in (0, 1)] == [[59.0, 61.0], [68.0, 72.0]]
    assert (
        SeededScore.of(rows, "auc").draws is None
        and SeededScore.of(rows, "r1") is None
        and SeededScore.of([], "map") is None
    )


def test_a_missing_side_makes_no_claim():
    assert higher("a", SOURCE, None, made(1.0)) == best("a", SOURCE, made(1.0), {"b": None}) == []
    assert comparable("a", SOURCE, made(1.0), None) == []
    assert higher("a", SOURCE, SeededScore({0: 1.0}, generated=True), SeededScore({1: 1.0}, generated=True)) == []


def test_best_holds_only_against_every_rival_and_tells_the_closest():
    first = made(10.0, 10.5, 11.0)
    rivals = {"weak": made(1.0, 1.4, 2.1), "near": made(9.0, 9.6, 10.1)}
    (claim,) = best("a", SOURCE, first, rivals)
    assert claim.verdict == "holds" and "near" in claim.figures
    rivals["level"] = made(10.1, 10.2, 11.3)
    assert best("a", SOURCE, first, rivals)[0].verdict == "undecided"
    rivals["better"] = made(20.0, 20.6, 21.1)
    assert best("a", SOURCE, first, rivals)[0].verdict == "does not hold"


def test_comparable_is_within_a_point():
    near = made(10.0, 10.2, 10.1)
    assert comparable("a", SOURCE, near, made(10.1, 10.1, 10.2))[0].verdict == "holds"
    assert comparable("a", SOURCE, near, made(5.1, 5.1, 5.2))[0].verdict == "does not hold"
    assert comparable("a", SOURCE, near, made(5.1, 5.1, 5.2), or_better=True)[0].verdict == "holds"
    assert comparable("a", SOURCE, near, made(15.1, 15.1, 15.2), or_better=True)[0].verdict == "does not hold"
    assert comparable("a", SOURCE, near, made(9.1, 10.1, 12.2))[0].verdict == "undecided"


def test_deviations_need_two_seeds():
    assert deviations([made(1.0, 3.0)]) == pytest.approx((np.sqrt(2),))
    assert deviations([made(1.0, 3.0), made(1.0)]) is None
