r"""Why many tests are better than one: Proposition 1, Theorem 1 and the appendix of the paper, and exact counts.

The model (section 2.2). Nodes i and j have m common candidates; a share alpha > 1/2 of them is of i's class. A test of
two nodes passes with probability p if they are of one class and q < p if not. Sim-M counts the candidates that pass
with both ends:

    S_ij = 1/m sum over c of S_ij^c,   E[S_ij] = mu_- = p q                            different classes
                                       E[S_ij] = mu_+ = alpha p^2 + (1 - alpha) q^2    one class

An edge is kept where S_ij >= S_t. A kept edge between classes is noisy, a dropped one within a class is missing.

Corrected here against the print: the theorem states E{N} = .../gamma where its proof shows "at most" that; the appendix
writes n for m under the roots of its two bounds on S_ij, forgets the square of mu_+ in the line before, and says
C(v_i) = C(v_j) for both means where s_- belongs to C(v_i) != C(v_j).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kinfolk._core.checks import check_finite, check_seed
from kinfolk._core.errors import InputError

LONGEST_SEARCH = 20_000  # tests beyond which exact counting stops: no neighbour list is that long


class Errors(NamedTuple):
    """Expected error edges of one node among its m candidates, or rates of them.

    Attributes
    ----------
    noisy : edges kept between classes.
    missing : edges lost within the class.
    """

    noisy: float
    missing: float


class Means(NamedTuple):
    """Expected Sim-M of two nodes of different classes and of the same class."""

    different: float
    same: float


def mean_scores(p: float, q: float, alpha: float) -> Means:
    """Return E[S_ij] for both kinds of pairs: pq, and alpha p^2 + (1 - alpha) q^2.

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.

    Returns
    -------
    Means

    Examples
    --------
    >>> mean_scores(p=0.5, q=0.25, alpha=0.75)
    Means(different=0.125, same=0.203125)
    """
    _check(p, q, alpha)
    return Means(p * q, alpha * p**2 + (1 - alpha) * q**2)


def single_test_errors(p: float, q: float, alpha: float, m: float) -> Errors:
    """Return Proposition 1: with one test a node has (1 - alpha) q m noisy and alpha (1 - p) m missing edges.

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    m : number of candidates.

    Returns
    -------
    Errors

    Examples
    --------
    >>> single_test_errors(p=0.75, q=0.25, alpha=0.75, m=32)
    Errors(noisy=2.0, missing=6.0)
    """
    _check(p, q, alpha)
    return Errors((1 - alpha) * q * m, alpha * (1 - p) * m)


def min_tests(p: float, q: float, alpha: float, gamma: float = 2.0, *, exact: bool = False) -> int:
    r"""Return how many tests make both kinds of error edges at least gamma times fewer than one test.

    Theorem 1 (Chernoff):  m > 3 (mu_+ + mu_-)^2 / (p q (mu_+ - mu_-)^2)  log(gamma / min((1 - alpha) q, alpha (1 - p)))

    which is equation 2 of the paper, since (p+q)^2 + (2 alpha - 1)(p^2 - q^2) = 2 (mu_+ + mu_-) and
    (p-q)^2 + (2 alpha - 1)(p^2 - q^2) = 2 (mu_+ - mu_-). `exact` counts instead of bounding: the smallest m for which
    some cut of the binomial scores leaves at most q / gamma of the pairs between classes and misses at most
    (1 - p) / gamma of the others.

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    gamma : how many times fewer error edges than with one test.
    exact : count by binomial tails instead of bounding.

    Returns
    -------
    int

    Examples
    --------
    >>> min_tests(p=0.8, q=0.2, alpha=0.8, gamma=2)
    262
    >>> min_tests(p=0.8, q=0.2, alpha=0.8, gamma=2, exact=True)
    11
    """
    _check(p, q, alpha, gamma)
    if exact:
        return _exact_min_tests(p, q, alpha, gamma)
    different, same = mean_scores(p, q, alpha)
    needed = np.log(1 / _delta(p, q, alpha, gamma))
    return int(np.floor(3 * (same + different) ** 2 / (p * q * (same - different) ** 2) * needed)) + 1


def threshold(p: float, q: float, alpha: float, m: int, gamma: float = 2.0) -> float:
    r"""Return the similarity threshold S_t of the proof of Theorem 1, halfway between the two bounds.

    S_t = (mu_- + sqrt(3 mu_- log(1/delta) / m)) / 2 + (mu_+ - sqrt(3 mu_+ log(1/delta) / m)) / 2,
    delta = min((1 - alpha) q, alpha (1 - p)) / gamma

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    m : number of tests.
    gamma : how many times fewer error edges than with one test.

    Returns
    -------
    float

    Examples
    --------
    >>> round(threshold(p=0.8, q=0.2, alpha=0.8, m=262), 3)
    0.306
    """
    _check(p, q, alpha, gamma)
    different, same = mean_scores(p, q, alpha)
    spread = 3 * np.log(1 / _delta(p, q, alpha, gamma)) / m
    return float((different + np.sqrt(different * spread) + same - np.sqrt(same * spread)) / 2)


def chernoff_errors(p: float, q: float, alpha: float, m: int) -> Errors:
    r"""Return the Chernoff bound for m tests: at most (1 - alpha) delta m noisy and alpha delta m missing edges.

    delta is the smallest for which both bounds of the proof still leave room for a threshold:
    sqrt(3 log(1/delta) / (p q m)) = (mu_+ - mu_-) / (mu_+ + mu_-).

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    m : number of tests.

    Returns
    -------
    Errors

    Examples
    --------
    >>> chernoff_errors(p=0.8, q=0.2, alpha=0.8, m=262).noisy < single_test_errors(0.8, 0.2, 0.8, 256).noisy / 2
    True
    """
    different, same = mean_scores(p, q, alpha)
    delta = float(np.exp(-p * q * m / 3 * ((same - different) / (same + different)) ** 2))
    return Errors((1 - alpha) * delta * m, alpha * delta * m)


def exact_error_rates(p: float, q: float, alpha: float, m: int, cut: float) -> Errors:
    r"""Return P(S_ij >= cut) for different classes and P(S_ij < cut) for one class, from binomial tails.

    m S_ij ~ Binomial(m, pq), or Binomial(a, p^2) + Binomial(m - a, q^2) with a = alpha m rounded.

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    m : number of tests.
    cut : Sim-M from which on an edge is kept.

    Returns
    -------
    Errors
        Rates, from 0 to 1.

    Examples
    --------
    >>> exact_error_rates(p=0.75, q=0.25, alpha=1.0, m=1, cut=0.5)
    Errors(noisy=0.1875, missing=0.4375)
    """
    passed = int(np.ceil(cut * m - 1e-9))
    noisy = stats.binom.sf(passed - 1, m, p * q)
    missing = _same_class_pmf(p, q, alpha, m)[: max(passed, 0)].sum()
    return Errors(float(noisy), float(min(missing, 1.0)))


def best_cut(p: float, q: float, alpha: float, m: int) -> float:
    """Return the Sim-M threshold with the fewest expected error edges for m tests, by exact tails.

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    m : number of tests.

    Returns
    -------
    float

    Examples
    --------
    >>> best_cut(p=0.8, q=0.2, alpha=0.8, m=20)
    0.3
    """
    different = stats.binom.pmf(np.arange(m + 1), m, p * q)
    same = _same_class_pmf(p, q, alpha, m)
    noisy = np.append(np.cumsum(different[::-1])[::-1], 0.0)  # at cut c of 0 .. m + 1
    missing = np.append(0.0, np.cumsum(same))
    return float(np.argmin((1 - alpha) * noisy + alpha * missing) / m)


def multiple_test_errors(p: float, q: float, alpha: float, m: int, cut: float | None = None) -> Errors:
    """Return the exact expected error edges of a node with Sim-M, at `cut` or at the best one.

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    m : number of tests.
    cut : Sim-M from which on an edge is kept; None: `best_cut`.

    Returns
    -------
    Errors

    Examples
    --------
    >>> many, one = multiple_test_errors(0.8, 0.2, 0.8, 20), single_test_errors(0.8, 0.2, 0.8, 20)
    >>> sum(many) < sum(one)
    True
    """
    _check(p, q, alpha)
    rates = exact_error_rates(p, q, alpha, m, best_cut(p, q, alpha, m) if cut is None else cut)
    return Errors((1 - alpha) * m * rates.noisy, alpha * m * rates.missing)


def min_tests_real(s_plus: float, s_minus: float, alpha: float, gamma: float = 2.0) -> int:
    r"""Return the appendix's count for similarities in [-1, 1] with mean s_+ within a class and s_- between classes.

    m > 4 (mu_+ + mu_-)^2 / (mu_-^2 (mu_+ - mu_-)^2)  log(gamma / min((1 - alpha) s_-, alpha (1 - s_+))),
    mu_- = s_+ s_-,  mu_+ = alpha s_+^2 + (1 - alpha) s_-^2,  (b - a)^2 = 4

    Parameters
    ----------
    s_plus, s_minus : mean similarity within a class and between classes.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    gamma : how many times fewer error edges than with one test.

    Returns
    -------
    int

    Examples
    --------
    >>> min_tests_real(s_plus=0.8, s_minus=0.2, alpha=0.8)
    2181
    """
    _check(s_plus, s_minus, alpha, gamma)
    different, same = mean_scores(s_plus, s_minus, alpha)
    ratio = (same + different) ** 2 / (different**2 * (same - different) ** 2)
    return int(np.floor(4 * ratio * np.log(1 / _delta(s_plus, s_minus, alpha, gamma)))) + 1


def threshold_real(s_plus: float, s_minus: float, alpha: float) -> float:
    r"""Return the threshold halfway between the two bounds of the appendix.

    S <= mu_- + 2 sqrt(log(1/delta) / m) between classes and S >= mu_+ - 2 sqrt(log(1/delta) / m) within one hold with
    probability 1 - delta each; the roots cancel, so the middle is (mu_- + mu_+) / 2 for every m and delta.

    Parameters
    ----------
    s_plus, s_minus : mean similarity within a class and between classes.
    alpha : share of the common candidates that are of the first node's class, above 1/2.

    Returns
    -------
    float

    Examples
    --------
    >>> round(threshold_real(s_plus=0.8, s_minus=0.2, alpha=0.8), 3)
    0.34
    """
    return float(np.mean(mean_scores(s_plus, s_minus, alpha)))


def simulate(
    p: float, q: float, alpha: float, m: int, cut: float | None = None, nodes: int = 2000, seed: int = 0
) -> tuple[Errors, Errors]:
    r"""Draw the tests of `nodes` nodes and count error edges a node: with one test, and with m tests at `cut`.

    Each node i has m candidates j, alpha m of its class, and m common candidates c, alpha m of its class; t(i, c) is
    drawn once for i and shared by all its j, as in a graph, t(c, j) for every c and j.

    Parameters
    ----------
    p, q : chance that a test passes within a class and between classes, q < p.
    alpha : share of the common candidates that are of the first node's class, above 1/2.
    m : number of tests.
    cut : Sim-M from which on an edge is kept; None: `best_cut`.
    nodes : number of nodes drawn.
    seed : of the draws.

    Returns
    -------
    tuple of Errors
        With one test, and with m tests.

    Examples
    --------
    >>> one, many = simulate(p=0.8, q=0.2, alpha=0.8, m=20, nodes=500)
    >>> sum(many) < sum(one)
    True
    """
    _check(p, q, alpha)
    check_seed(seed)
    cut = best_cut(p, q, alpha, m) if cut is None else cut
    rng = np.random.default_rng(seed)
    totals = np.zeros(4)
    for _ in range(nodes):
        own_class = np.arange(m) < np.floor(alpha * m + rng.random())  # alpha m in the mean, whole candidates each time
        chance_i = np.where(own_class, p, q)
        chance_pairs = np.where(own_class[:, None] == own_class, p, q)
        direct, through_i = rng.random((2, m)) < chance_i
        scores = through_i.astype(np.float64) @ (rng.random((m, m)) < chance_pairs) / m
        for offset, kept in ((0, direct), (2, scores >= cut - 1e-9)):
            totals[offset] += np.count_nonzero(kept & ~own_class)
            totals[offset + 1] += np.count_nonzero(~kept & own_class)
    noisy_one, missing_one, noisy_many, missing_many = (totals / nodes).tolist()
    return Errors(noisy_one, missing_one), Errors(noisy_many, missing_many)


def _exact_min_tests(p: float, q: float, alpha: float, gamma: float) -> int:
    for m in range(1, LONGEST_SEARCH + 1):
        passed = int(stats.binom.isf(q / gamma, m, p * q)) + 1  # the lowest cut that leaves few enough noisy edges
        if passed <= m and _same_class_pmf(p, q, alpha, m)[:passed].sum() <= (1 - p) / gamma:
            return m
    raise InputError(f"no number of tests up to {LONGEST_SEARCH:,} is enough for p={p}, q={q}, alpha={alpha}")


def _same_class_pmf(p: float, q: float, alpha: float, m: int) -> NDArray[np.float64]:
    same = round(alpha * m)
    return np.convolve(
        stats.binom.pmf(np.arange(same + 1), same, p**2), stats.binom.pmf(np.arange(m - same + 1), m - same, q**2)
    )


def _delta(p: float, q: float, alpha: float, gamma: float) -> float:
    smallest = min((1 - alpha) * q, alpha * (1 - p))
    if smallest <= 0:
        raise InputError(
            "one test makes no errors of one kind here (alpha or p is 1, or q is 0): nothing is to be gained"
        )
    return smallest / gamma


def _check(p: float, q: float, alpha: float, gamma: float = 2.0) -> None:
    check_finite(dict(p=p, q=q, alpha=alpha, gamma=gamma))
    if not (0 <= p <= 1 and 0 <= q <= 1):
        raise InputError(f"p and q are probabilities from 0 to 1, not {p} and {q}")
    if not q < p:
        raise InputError(f"q < p is needed: a test must pass more often within a class than between, not p={p}, q={q}")
    if not 0.5 < alpha <= 1:
        raise InputError(f"alpha must lie above 1/2: most common candidates must be of the node's class, not {alpha}")
    if not gamma > 1:
        raise InputError(f"gamma must lie above 1, not {gamma}")
