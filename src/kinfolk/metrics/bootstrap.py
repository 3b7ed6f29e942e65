r"""Confidence intervals over identities, and whether the difference of two results is real.

Items of one class are alike: drawing rows would count one person with 500 photographs as 500 facts. Drawn, with
replacement, are the C classes, C times (`identity_scores` gives the score of such a draw without touching the rows).

The interval goes from the (1 - level) / 2 to the (1 + level) / 2 quantile of the scores of the resamples, moved so that
their mean is the score of the set, and cut at the ends of the score's range. Moved, because a score that is not linear
in the weights is shifted in all resamples, where classes are drawn twice or not at all.

That shift is why scipy.stats.bootstrap does not do: on the same function of 5,000 identities, 1,000 resamples, it is as
fast (0.7 s, ours 0.6 s), but for a BCubed precision of 90.9 its intervals are 91.7 to 92.2 (percentile), 89.5 to 90.0
(basic) and 89.1 to 89.2 (BCa, 5 s), none of which holds the score; ours is 90.6 to 91.1.

The interval describes how much the score depends on the identities in the set, not how it would change with another
training run. Where errors join two classes (precision) it is cautious: wider than it need be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinfolk._core.checks import check_seed, is_whole
from kinfolk._core.errors import InputError
from kinfolk._core.progress import progress
from kinfolk.metrics._contingency import Values
from kinfolk.metrics.identity_scores import IdentityScores


class Interval(NamedTuple):
    """A score of the whole set and its confidence interval.

    Attributes
    ----------
    value : score of the whole set.
    low, high : ends of the interval.
    """

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """A score of two results, and the confidence interval of their difference.

    Attributes
    ----------
    name : of the score.
    first, second : score of each result.
    value : first minus second.
    low, high : ends of the interval of the difference.
    level : confidence of the interval.
    """

    name: str
    first: float
    second: float
    value: float
    low: float
    high: float
    level: float

    @property
    def real(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        verdict = (
            f"the {'first' if self.value > 0 else 'second'} is higher, more than the choice of identities explains"
            if self.real
            else "not told apart from chance"
        )
        return (
            f"{self.name}: {100 * self.first:.2f} against {100 * self.second:.2f}, difference {100 * self.value:+.2f} "
            f"({self.level:.0%} interval {100 * self.low:+.2f} to {100 * self.high:+.2f}): {verdict}"
        )


def bootstrap(
    scores: IdentityScores, resamples: int = 1000, level: float = 0.95, seed: int = 0, show_progress: bool = False
) -> dict[str, Interval]:
    """Return each score with its confidence interval over identities.

    Parameters
    ----------
    scores : what `clustering_scores`, `retrieval_scores`, `reid_scores` or `graph_scores` returned.
    resamples : how often the identities are drawn again. Cost of each: the cells of the contingency table, or the
        number of classes (retrieval), or the number of edges (graph).
    level : share of the resamples that the interval holds.
    seed : the same number gives the same intervals.
    show_progress : a progress bar, in a terminal only.

    Returns
    -------
    An Interval(value, low, high) for each name of a score.

    Examples
    --------
    >>> from kinfolk.metrics import clustering_scores
    >>> y = np.repeat(np.arange(30), 5)
    >>> p = np.where(np.arange(150) % 5 < y % 4, y + 100, y)  # parts of some classes split off
    >>> found = bootstrap(clustering_scores(y, p), seed=0)["pairwise_recall"]
    >>> [round(value, 2) for value in found]
    [0.61, 0.53, 0.71]
    """
    drawn = _resampled([scores], resamples, level, seed, show_progress)[0]
    values = scores.values()
    low, high = _ends(drawn, list(values.values()), level)
    least = {"ari": -1.0}
    return {
        name: Interval(value, max(low[s], least.get(name, 0.0)), min(high[s], 1.0))
        for s, (name, value) in enumerate(values.items())
    }


def resampled(scores: IdentityScores, resamples: int = 1000, seed: int = 0) -> dict[str, Values]:
    """Return each score on each resample of the identities.

    Parameters
    ----------
    scores, resamples : as in `bootstrap`.
    seed : the same seed draws the same identities of the same set: differences of results may be taken draw by draw.

    Returns
    -------
    (resamples,) values for each name of a score.

    Examples
    --------
    >>> from kinfolk.metrics import clustering_scores
    >>> resampled(clustering_scores([0, 0, 1, 1], [0, 0, 1, 2]), resamples=5)["pairwise_recall"]
    array([0. , 0.5, 1. , 1. , 0.5])
    """
    (drawn,) = _resampled([scores], resamples, 0.95, seed, show_progress=False)
    return dict(zip(scores.names, drawn.T, strict=True))


def compare(
    first: IdentityScores,
    second: IdentityScores,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    show_progress: bool = False,
) -> dict[str, Difference]:
    """Return the difference of each score of two results on the same rows, and whether it is real.

    Paired: both are scored on the same draws of identities, so what makes a draw hard for both cancels out.

    Parameters
    ----------
    first, second : results of the same function on the same rows.
    resamples, level, seed, show_progress : as in `bootstrap`.

    Returns
    -------
    A Difference for each name of a score; printed, it is one sentence.

    Examples
    --------
    >>> from kinfolk.metrics import clustering_scores
    >>> y = np.repeat(np.arange(30), 5)
    >>> p = np.where(np.arange(150) % 5 < y % 4, y + 100, y)
    >>> print(compare(clustering_scores(y, y), clustering_scores(y, p))["bcubed_f"])
    bcubed_f: 100.00 against 81.70, difference +18.30 (95% interval +13.05 to +23.05): the first is higher, more
    than the choice of identities explains
    """
    if first.names != second.names:
        have, other = (", ".join(scores.names) for scores in (first, second))
        raise InputError(f"two results are compared by the same scores; the first has {have}, the second {other}")
    if not np.array_equal(first.rows, second.rows):
        raise InputError("two results are compared on the same rows: their labels (or queries) differ")
    drawn = _resampled([first, second], resamples, level, seed, show_progress)
    one, two = first.values(), second.values()
    low, high = _ends(drawn[0] - drawn[1], [one[name] - two[name] for name in first.names], level)
    return {
        name: Difference(name, one[name], two[name], one[name] - two[name], low[s], high[s], level)
        for s, name in enumerate(first.names)
    }


def _resampled(
    results: Sequence[IdentityScores], resamples: int, level: float, seed: int, show_progress: bool
) -> list[Values]:
    """Return the scores of each result on the same resamples: (resamples, scores) each."""
    if not is_whole(resamples) or not 0 < level < 1:
        raise InputError(f"resamples must be 1 or more and level between 0 and 1, not {resamples} and {level}")
    identities = results[0].identities
    if identities < 2:
        raise InputError("an interval over identities needs at least two of them")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    scores = [np.empty((resamples, len(result.names))) for result in results]
    with progress("resampling identities", resamples, show=show_progress) as advance:
        for r in range(resamples):
            drawn = np.bincount(rng.integers(identities, size=identities), minlength=identities).astype(np.float64)
            for result, found in zip(results, scores, strict=True):
                found[r] = result.at(drawn)
            advance()
    return scores


def _ends(drawn: Values, values: Sequence[float], level: float) -> list[list[float]]:
    """Return the lower and the upper ends of the intervals around `values`, from (resamples, scores)."""
    defined = drawn[~np.isnan(drawn).any(axis=1)]
    if not len(defined):
        raise InputError("no resample has both edges within classes and between them: an AUC needs both kinds")
    quantiles = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return (quantiles - defined.mean(axis=0) + values).tolist()
