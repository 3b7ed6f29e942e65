"""The theory against its printed form, against enumeration, and against drawn graphs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk import theory

CASES = [(0.8, 0.2, 0.8), (0.9, 0.3, 0.6), (0.7, 0.1, 0.75), (0.95, 0.5, 0.9)]
rates = st.floats(0.02, 0.98)
alphas = st.floats(0.51, 0.99)


@given(rates, rates, alphas, st.floats(1.1, 50))
def test_min_tests_is_equation_2_as_printed(p, q, alpha, gamma):
    assume(p > q + 0.02)
    first = (p + q) ** 2 + (2 * alpha - 1) * (p**2 - q**2)
    second = (p - q) ** 2 + (2 * alpha - 1) * (p**2 - q**2)
    bound = 3 * first**2 / (p * q * second**2) * math.log(gamma / min((1 - alpha) * q, alpha * (1 - p)))
    found = theory.min_tests(p, q, alpha, gamma)
    assert found > bound * (1 - 1e-9)
    assert found - 1 <= bound * (1 + 1e-9)


@given(rates, rates, alphas, st.floats(1.1, 50))
def test_min_tests_real_is_the_appendix_as_printed(s_plus, s_minus, alpha, gamma):
    assume(s_plus > s_minus + 0.02)
    first = (s_plus + s_minus) ** 2 + (2 * alpha - 1) * (s_plus**2 - s_minus**2)
    second = (s_plus - s_minus) ** 2 + (2 * alpha - 1) * (s_plus**2 - s_minus**2)
    log = math.log(gamma / min((1 - alpha) * s_minus, alpha * (1 - s_plus)))
    bound = 4 * first**2 / (s_plus**2 * s_minus**2 * second**2) * log
    assert theory.min_tests_real(s_plus, s_minus, alpha, gamma) == pytest.approx(math.floor(bound) + 1, rel=1e-9)


@pytest.mark.parametrize(("p", "q", "alpha"), CASES)
def test_the_threshold_lies_between_the_two_bounds_once_m_is_large_enough(p, q, alpha):
    gamma = 2.0
    m = theory.min_tests(p, q, alpha, gamma)
    delta = min((1 - alpha) * q, alpha * (1 - p)) / gamma
    different, same = p * q, alpha * p**2 + (1 - alpha) * q**2
    upper = (1 + math.sqrt(3 * math.log(1 / delta) / (p * q * m))) * different
    lower = (1 - math.sqrt(3 * math.log(1 / delta) / (same * m))) * same
    assert upper <= theory.threshold(p, q, alpha, m, gamma) <= lower
    assert theory.threshold(p, q, alpha, m, gamma) == pytest.approx((upper + lower) / 2)


def enumerated(p, q, alpha, m, cut):
    """Return the two error rates by walking through every outcome of the m tests."""
    own = round(alpha * m)
    chances = {"different": [p * q] * m, "same": [p * p] * own + [q * q] * (m - own)}
    kept = dict.fromkeys(chances, 0.0)
    for outcome in itertools.product([0, 1], repeat=m):
        for kind, each in chances.items():
            if sum(outcome) / m >= cut - 1e-9:
                kept[kind] += math.prod(c if o else 1 - c for c, o in zip(each, outcome, strict=True))
    return kept["different"], 1 - kept["same"]


@given(rates, rates, alphas, st.integers(1, 8), st.data())
@settings(max_examples=40, deadline=None)
def test_exact_rates_equal_an_enumeration_of_all_outcomes(p, q, alpha, m, data):
    assume(p > q)
    cut = data.draw(st.integers(0, m)) / m
    np.testing.assert_allclose(
        theory.exact_error_rates(p, q, alpha, m, cut), enumerated(p, q, alpha, m, cut), atol=1e-9
    )


@pytest.mark.parametrize(("p", "q", "alpha"), CASES)
def test_exact_min_tests_is_enough_and_nothing_smaller_is(p, q, alpha):
    def enough(m):
        errors = [theory.exact_error_rates(p, q, alpha, m, cut / m) for cut in range(m + 2)]
        return any(e.noisy <= q / 2 and e.missing <= (1 - p) / 2 for e in errors)

    m = theory.min_tests(p, q, alpha, gamma=2, exact=True)
    assert m < theory.min_tests(p, q, alpha, gamma=2) / 5  # the bound asks for many times more than is needed
    assert [enough(tests) for tests in range(1, m + 1)] == [False] * (m - 1) + [True]


@pytest.mark.parametrize(("p", "q", "alpha"), CASES)
def test_drawn_graphs_have_the_errors_that_the_exact_tails_say(p, q, alpha):
    m, nodes = 20, 3000
    one, many = theory.simulate(p, q, alpha, m, nodes=nodes, seed=1)
    share = round(alpha * m) / m  # whole candidates
    for drawn, expected in (
        (one, theory.single_test_errors(p, q, share, m)),
        (many, theory.multiple_test_errors(p, q, share, m)),
    ):
        for found, wanted in zip(drawn, expected, strict=True):
            # the errors of one node depend on each other through its own tests: a wide but real margin
            assert found == pytest.approx(wanted, abs=5 * math.sqrt(wanted * m / nodes) + 1e-3)
    assert sum(many) < sum(one)


@pytest.mark.parametrize(("p", "q", "alpha"), CASES[:2])
def test_theorem_1_holds_on_drawn_graphs(p, q, alpha):
    m = theory.min_tests(p, q, alpha, gamma=2)
    one, many = theory.simulate(p, q, alpha, m, cut=theory.threshold(p, q, alpha, m), nodes=60, seed=0)
    assert many.noisy <= one.noisy / 2
    assert many.missing <= one.missing / 2


def test_bad_arguments_get_one_sentence():
    for arguments, message in (
        ((0.2, 0.8, 0.8), "q < p"),
        ((0.8, 0.2, 0.5), "alpha must lie above 1/2"),
        ((1.0, 0.2, 0.8), "nothing is to be gained"),
    ):
        with pytest.raises(kf.InputError, match=message):
            theory.min_tests(*arguments)
    with pytest.raises(kf.InputError, match="gamma"):
        theory.min_tests(0.8, 0.2, 0.8, gamma=1.0)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (dict(p=1.0, q=0.0, alpha=0.8), "nothing is to be gained"),
        (dict(p=0.8, q=0.2, alpha=0.8, gamma=float("inf")), "gamma must be a finite number"),
        (dict(p=float("nan"), q=0.2, alpha=0.8), "p must be a finite number"),
    ],
)
def test_numbers_without_an_answer_are_refused(settings, sentence):
    with pytest.raises(kf.InputError, match=sentence):
        kf.theory.min_tests(**settings)
