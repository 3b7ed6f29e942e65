import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kinfolk.experiments.evidence import Evidence, Where, best_of, both, higher
from kinfolk.experiments.feature_quality import Quality
from kinfolk.experiments.forms import ORIGINAL
from kinfolk.experiments.task_cells import Scored, TaskCell

numbers = st.lists(st.floats(-100, 100), min_size=2, max_size=6)


@given(numbers, numbers)
def test_the_interval_over_seeds_is_the_paired_t_test(first, second):
    a, b = np.array(first), np.array(second)
    shared = min(len(a), len(b))
    difference = Evidence(a) - Evidence(b)
    paired = a[:shared] - b[:shared]
    low, high = difference.interval()
    reach = stats.t.ppf(0.975, shared - 1) * paired.std(ddof=1) / np.sqrt(shared)
    assert low == pytest.approx(paired.mean() - reach, abs=1e-9)
    assert high == pytest.approx(paired.mean() + reach, abs=1e-9)


def test_verdicts():
    assert Evidence(np.array([1.0, 1.1, 0.9])).verdict() == "holds"
    assert Evidence(np.array([-1.0, -1.1, -0.9])).verdict() == "does not hold"
    assert Evidence(np.array([1.0, -1.1, 0.9])).verdict() == "undecided"
    assert Evidence(np.array([5.0])).verdict() == "undecided" and "no interval" in str(Evidence(np.array([5.0])))


def test_draws_are_taken_where_there_are_any_and_those_without_a_score_are_left_out():
    drawn = np.append(np.linspace(1, 3, 99), np.nan)
    assert Evidence(np.array([2.0]), drawn).verdict() == "holds"
    assert Evidence(np.array([2.0]), drawn - 2).verdict() == "undecided"
    assert (Evidence(np.array([2.0]), drawn) - Evidence(np.array([0.0, 1.0]))).draws is None


def test_a_run_that_has_nothing_random_is_paired_with_every_seed():
    assert both(np.subtract, Evidence(np.array([3.0, 4.0])), Evidence(np.array([1.0]))).values.tolist() == [2.0, 3.0]


def test_evidence_of_cells_is_in_the_order_of_the_seeds_and_its_draws_are_centred():
    rows = []
    for seed, score in ((1, 70.0), (0, 60.0)):
        cell = TaskCell("digits", ORIGINAL, Quality(5), seed)
        found = dict(chosen={}, trained=False, seconds=0.0, fit_seconds=0.0, draws=dict(map=[0.0, 2.0 + 2 * seed]))
        rows.append(Scored.of(cell, "", scores=dict(map=score, auc=50.0), **found))
    evidence = Evidence.of(rows, "map")
    assert evidence.values.tolist() == [60.0, 70.0]
    assert evidence.draws.tolist() == [(59 + 68) / 2, (61 + 72) / 2]
    assert Evidence.of(rows, "auc").draws is None


def test_a_missing_side_makes_no_claim():
    place = Where("Table 2", "map", "mAP")
    assert higher("a", place, "digits", None, Evidence(np.ones(2))) == []
    assert best_of([Evidence(np.ones(2)), Evidence(np.zeros(2))]).mean == 1
