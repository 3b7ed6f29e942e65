"""The theorem as plots: its numbers against sums over all results, its verdicts against what they are about."""

import math

import numpy as np
import pytest

import kinfolk as kf
from kinfolk import theory
from kinfolk.experiments import theorem as module
from kinfolk.experiments.results import read_result
from kinfolk.experiments.resume import Data
from kinfolk.experiments.theorem import (
    MODEL_SETTINGS,
    bound_claim,
    bound_suffices,
    error_lines,
    estimates,
    fairest_cut,
    fewer_errors_claim,
    grid,
    theorem,
    verdict_of_fewer,
)


def quiet(text):
    return None


@pytest.fixture
def small_grid(monkeypatch):
    """For tests of the claims about sets: the claims about the model have their own."""
    for name, values in dict(
        GRID_P=(0.8,), GRID_Q=(0.2,), GRID_ALPHA=(0.8,), ALPHAS=(0.7, 0.8), TEST_COUNTS=(2, 8)
    ).items():
        monkeypatch.setattr(module, name, values)


@pytest.fixture(scope="module")
def persons():
    return Data.of(kf.datasets.person_like(24, dim=16))


@pytest.fixture(scope="module")
def found(persons):
    return theorem({"persons": persons}, quick=True, echo=quiet)


def tail_by_sums(chances, cut):
    """Return P(as many as cut of the tests pass), one test after another."""
    passed = [1.0]
    for chance in chances:
        kept, more = [c * (1 - chance) for c in passed] + [0.0], [0.0] + [c * chance for c in passed]
        passed = [a + b for a, b in zip(kept, more, strict=True)]
    return math.fsum(c for count, c in enumerate(passed) if count >= cut - 1e-9)


@pytest.mark.parametrize("numbers", [(0.8, 0.2, 0.8), (0.9, 0.1, 0.75), (0.7, 0.3, 0.9)])
def test_the_bound_suffices_by_adding_up_test_after_test(numbers):
    p, q, alpha = numbers
    m, gamma = theory.min_tests(*numbers), 2.0
    cut = theory.threshold(*numbers, m) * m
    own = round(alpha * m)
    noisy = tail_by_sums([p * q] * m, cut)
    missing = 1 - tail_by_sums([p * p] * own + [q * q] * (m - own), cut)
    assert noisy <= q / gamma and missing <= (1 - p) / gamma
    assert bound_suffices(*numbers, gamma)


def test_a_bound_that_asks_for_too_few_tests_is_found_out(monkeypatch):
    tests = theory.min_tests
    few = lambda *numbers, exact=False: tests(*numbers, exact=True) if exact else 2  # noqa: E731
    monkeypatch.setattr(module, "min_tests", few)
    claim = bound_claim()
    assert claim.verdict == "does not hold" and "of 48 settings" in claim.figures


def test_enough_tests_are_enough_and_two_are_not(monkeypatch):
    claim = fewer_errors_claim(nodes=60, seed=1)
    assert claim.verdict == "holds" and f"24 of {len(grid())}" in claim.figures
    two = sum(fairest_cut(*numbers, 2)[1] < 1 for numbers in grid())
    assert f"in {two}." in claim.figures and two < 24
    monkeypatch.setattr(module, "min_tests", lambda *numbers, exact: 2)
    assert fewer_errors_claim(nodes=60, seed=1).verdict == "does not hold"


@pytest.mark.parametrize("numbers", [(0.8, 0.2, 0.8), (0.9, 0.5, 0.6)])
def test_the_fairest_cut_halves_both_kinds_from_the_exact_count_on(numbers):
    p, q, alpha = numbers
    m = theory.min_tests(*numbers, exact=True)
    cut, ratio = fairest_cut(*numbers, m)
    assert ratio <= 1 / 2 < fairest_cut(*numbers, m - 1)[1]
    own = round(alpha * m)
    noisy = tail_by_sums([p * q] * m, cut * m)
    missing = 1 - tail_by_sums([p * p] * own + [q * q] * (m - own), cut * m)
    assert ratio == pytest.approx(max(noisy / q, missing / (1 - p)))


@pytest.mark.parametrize("setting", MODEL_SETTINGS, ids=lambda setting: setting.name)
def test_lines_are_the_theorys_own_numbers(setting):
    none, one, bound, exact, drawn = error_lines(setting, nodes=60)
    assert none.y == pytest.approx([(1 - setting.alpha) * m for m in none.x])
    numbers = setting.p, setting.q, setting.alpha
    for m, edges in zip(one.x, one.y, strict=True):
        assert edges == pytest.approx(((1 - setting.alpha) * setting.q + setting.alpha * (1 - setting.p)) * m)
    assert max(drawn.x) <= 200 < max(bound.x)
    for line in (bound, exact, drawn):
        assert min(line.y) >= 1e-3
    at = dict(zip(exact.x, exact.y, strict=True))
    assert at[20.0] == pytest.approx(sum(theory.multiple_test_errors(*numbers, 20)))
    counted = dict(zip(drawn.x, drawn.y, strict=True))
    assert counted[20.0] == pytest.approx(at[20.0], rel=0.5, abs=0.3)
    crossing = theory.min_tests(*numbers)
    beyond = [m for m in bound.x if m >= crossing]
    assert all(edges < one.y[one.x.index(m)] for m, edges in zip(bound.x, bound.y, strict=True) if m in beyond)


def test_estimates_are_read_off_the_graph_of_the_test_part(persons):
    (row,) = estimates(persons, [7])
    labels, g = persons.test.labels, kf.knn_graph(persons.test, 7)
    lists = [set(row) for row in g.indices.tolist()]
    common = [(i, c) for i in range(len(g)) for j in lists[i] for c in lists[i] & lists[j]]
    assert row.numbers.m == pytest.approx(len(common) / g.indices.size)
    assert row.numbers.alpha == pytest.approx(np.mean([labels[i] == labels[c] for i, c in common]))
    assert row.noise == pytest.approx(np.mean([labels[i] != labels[j] for i in range(len(g)) for j in lists[i]]))


def test_ks_that_a_set_does_not_have_are_left_out(persons):
    ks = [row.k for row in estimates(persons, [5, len(persons.test) - 1, len(persons.test), 9999])]
    assert ks == [5, len(persons.test) - 1]


def test_the_condition_is_checked_for_each_set(found):
    condition = next(claim for claim in found.claims if "α > 1/2" in claim.claim)
    table, _ = found.tables
    alphas = {int(row[0]): float(row[5]) for row in table.rows}
    assert condition.data == "persons"
    assert condition.verdict == ("holds" if min(alphas.values()) <= 0.5 else "does not hold")
    assert "fails from k = " + str(min(k for k, alpha in alphas.items() if alpha <= 0.5)) in condition.figures
    for row in table.rows:
        assert (row[6] == "–") == (float(row[5]) <= 0.5)
    (panel,) = next(chart for chart in found.charts if chart.name == "theorem-alpha").panels
    assert panel.lines[0].x == tuple(alphas)


def test_many_tests_are_compared_where_they_keep_as_many_true_edges(persons):
    (row,) = estimates(persons, [12])
    labels, g = persons.test.labels, kf.knn_graph(persons.test, 12)
    lists = [dict(zip(g.indices[i].tolist(), g.similarities[i].tolist(), strict=True)) for i in range(len(g))]
    scores = {True: [], False: []}
    for i in range(len(g)):
        for j in lists[i]:
            common = lists[i].keys() & lists[j].keys()
            passed = sum(lists[i][c] >= row.numbers.threshold and lists[j][c] >= row.numbers.threshold for c in common)
            scores[bool(labels[i] == labels[j])].append(passed / max(len(common), 1))
    same, different = np.array(scores[True]), np.array(scores[False])
    around = [np.inf, -np.inf]  # noisy edges kept at the cuts just above and just below p
    for cut in np.unique(same):
        kept, noise = np.mean(same >= cut - 1e-6), np.mean(different >= cut - 1e-6)
        if kept >= row.numbers.p:
            around[0] = min(around[0], noise)
        if kept <= row.numbers.p:
            around[1] = max(around[1], noise)
    assert around[1] - 0.01 <= row.binary_q <= around[0] + 0.01
    curve = kf.metrics.roc(g, kf.sim_m(g), labels)
    above = curve.tpr >= row.numbers.p
    assert curve.fpr[~above].max() - 0.01 <= row.real_q <= curve.fpr[above].min() + 0.01


def test_sets_are_judged_where_there_are_enough_tests(persons, found):
    rows = [row for row in estimates(persons, module.QUICK_KS) if row.numbers.holds]
    enough = [row.numbers.m >= row.numbers.needed_exact for row in rows]
    binary, real = (c for c in found.claims if c.data == "persons" and "fewer error edges" in c.claim)
    for claim, name in ((binary, "binary_q"), (real, "real_q")):
        errors = [(row.numbers.q, getattr(row, name), e) for row, e in zip(rows, enough, strict=True)]
        assert claim.verdict == verdict_of_fewer(errors)
        assert claim.figures.count("too few") == enough.count(False)
    _, table = found.tables
    for row, line in zip(estimates(persons, module.QUICK_KS), table.rows, strict=True):
        assert line[:3] == (str(row.k), f"{row.k * row.noise:.2f}", f"{sum(row.numbers.one_test):.2f}")
        assert line[-3:] == tuple(f"{100 * share:.1f}" for share in (row.numbers.q, row.binary_q, row.real_q))


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ([(2, 1, True), (2, 1.5, True), (2, 9, False)], "holds"),
        ([(2, 1, True), (2, 2, True)], "does not hold"),
        ([(2, 1, False), (2, 1, False)], "holds"),
        ([(2, 1, False), (2, 3, False)], "undecided"),
    ],
)
def test_too_few_tests_decide_nothing_against_many(errors, verdict):
    assert verdict_of_fewer(errors) == verdict


def test_a_set_whose_edges_are_all_true_says_nothing(small_grid):
    X = np.eye(4).repeat(30, axis=0) + 0.01 * np.random.default_rng(0).random((120, 4))
    fs = kf.FeatureSet(X, labels=np.arange(4).repeat(30))
    found = theorem({"clear": Data(fs, fs.take(slice(0, 30)))}, quick=True, echo=quiet)
    assert [claim.data for claim in found.claims] == ["the model"] * 2
    assert [chart.name for chart in found.charts] == ["theorem-errors", "theorem-tests"] and found.tables == ()


def test_where_the_condition_fails_at_every_k_there_is_no_panel(small_grid):
    rng = np.random.default_rng(0)
    fs = kf.FeatureSet(rng.standard_normal((60, 4)), labels=rng.integers(0, 20, 60))
    found = theorem({"chaos": Data(fs, fs)}, quick=True, echo=quiet)
    names = [chart.name for chart in found.charts]
    assert "theorem-sets" not in names and "theorem-alpha" in names
    assert [claim.verdict for claim in found.claims if claim.data == "chaos"] == ["holds"]
    assert "chaos" in {table.data for table in found.tables}


def test_the_result_survives_the_disk(found, tmp_path):
    assert read_result(found.save(tmp_path)) == found
    needed = next(chart for chart in found.charts if chart.name == "theorem-tests")
    for panel, setting in zip(needed.panels, MODEL_SETTINGS, strict=True):
        bound, exact = panel.lines
        assert all(many > few for many, few in zip(bound.y, exact.y, strict=True))
        assert exact.y[3] == theory.min_tests(setting.p, setting.q, exact.x[3], exact=True)
