"""Whether what the paper claims holds here: a difference, its interval, and the verdict.

A claim that one number is higher than another holds where the 95 % interval of their difference lies above zero, does
not hold where it lies below, and is undecided otherwise. The interval covers what could have come out otherwise:

    generated sets   each seed has new identities and a new training: Student's interval over the seeds
    given sets       r^2 = r_identities^2 + r_seeds^2: the identities are drawn with replacement, the same draws for
                     both sides, and the seeds of the training have Student's interval

One seed of a generated set is treated like a given set, by its identities alone (noted in the figures). Where there is
neither a second seed nor a draw, or all seeds came out the same, there is no interval and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kinfolk.experiments.generated_sets import GENERATED_SETS
from kinfolk.experiments.markdown import spread
from kinfolk.experiments.results import Claim, Verdict
from kinfolk.experiments.task_cells import ScoredCell, ScoredCells, TaskCell

LEVEL = 0.95  # of every interval
CLOSE = 1.0  # points of difference up to which the paper calls two numbers comparable
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeededScore:
    """A score measured with several seeds: its value for each seed, and its values on resamples of the identities.

    values     {seed: score}
    draws      {seed: (draws,)}; a draw without pairs of two classes has no AUC: it is nan, and left out
    generated  each seed has a generated set of its own

    >>> better = SeededScore({0: 80.0, 1: 81.0, 2: 82.0}, generated=True)
    >>> print(better - SeededScore({0: 70.0, 1: 70.5, 2: 72.0}, generated=True))
    +10.2 [+9.4, +10.9]
    """

    values: Mapping[int, float]
    draws: Mapping[int, Values] | None = None
    generated: bool = False

    @classmethod
    def of(cls, rows: Iterable[ScoredCell], score: str) -> SeededScore | None:
        """Return the score of some cells, one a seed; None where there is none."""
        scored = {row.seed: row for row in rows if score in row.scores}
        if not scored:
            return None
        values = {seed: row.scores[score] for seed, row in scored.items()}
        generated = next(iter(scored.values())).data in GENERATED_SETS
        if not all(score in row.draws for row in scored.values()):
            return cls(values, generated=generated)
        drawn = {seed: np.array(row.draws[score]) for seed, row in scored.items()}
        return cls(values, {s: d - np.nanmean(d) + values[s] for s, d in drawn.items()}, generated)

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return float(np.mean(list(self.values.values())))

    def text(self, sign: bool = False, digits: int = 1) -> str:
        """Return mean and spread over the seeds."""
        return spread(list(self.values.values()), sign, digits)

    @property
    def deviation(self) -> float | None:
        """The standard deviation over the seeds; None for a single one."""
        return float(np.std(list(self.values.values()), ddof=1)) if len(self.values) > 1 else None

    def __sub__(self, other: SeededScore) -> SeededScore:
        """Return the difference, seed by seed and draw by draw.

        On a given set a method without randomness has one run, which is paired with every seed of the other.
        """
        first, second = self._with_seeds_of(other), other._with_seeds_of(self)
        common = sorted(first.values.keys() & second.values.keys())
        values = {seed: first.values[seed] - second.values[seed] for seed in common}
        if first.draws is None or second.draws is None:
            return SeededScore(values, generated=self.generated)
        draws = {seed: first.draws[seed] - second.draws[seed] for seed in common}
        return SeededScore(values, draws, self.generated)

    def _with_seeds_of(self, other: SeededScore) -> SeededScore:
        if self.generated or len(self.values) > 1:
            return self
        seeds, (value,) = [*self.values, *other.values], self.values.values()
        drawn = None if self.draws is None else dict.fromkeys(seeds, next(iter(self.draws.values())))
        return SeededScore(dict.fromkeys(seeds, value), drawn, self.generated)

    def __neg__(self) -> SeededScore:
        values = {seed: -value for seed, value in self.values.items()}
        drawn = None if self.draws is None else {seed: -draws for seed, draws in self.draws.items()}
        return SeededScore(values, drawn, self.generated)

    def interval(self, comparisons: int = 1) -> tuple[float, float] | None:
        """Return the ends of the 95 % interval, with Bonferroni's correction for the number of comparisons."""
        level = 1 - (1 - LEVEL) / comparisons
        seeds = self._half_width_of_seeds(level)
        if self.generated and len(self.values) > 1:
            return None if seeds == 0 else (self.mean - seeds, self.mean + seeds)
        if self.draws is None:
            return None
        drawn = np.mean(list(self.draws.values()), axis=0)
        low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2]) - np.nanmean(drawn)
        return self.mean - float(np.hypot(low, seeds)), self.mean + float(np.hypot(high, seeds))

    def _half_width_of_seeds(self, level: float) -> float:
        if len(self.values) < 2:
            return 0.0
        return float(stats.t.ppf((1 + level) / 2, len(self.values) - 1) * stats.sem(list(self.values.values())))

    def verdict(self, comparisons: int = 1) -> Verdict:
        """Return whether the score is above zero, judged by its interval."""
        ends = self.interval(comparisons)
        if ends is None or np.isnan(ends).any():
            return "undecided"
        return "holds" if ends[0] > 0 else "does not hold" if ends[1] < 0 else "undecided"

    def __str__(self) -> str:
        return self.shown()

    def shown(self, comparisons: int = 1) -> str:
        """Return the mean and the interval."""
        ends = self.interval(comparisons)
        if ends is None:
            return f"{self.mean:+.1f} [no interval]"
        alone = ", one seed: identities alone" if len(self.values) == 1 and self.generated else ""
        return f"{self.mean:+.1f} [{ends[0]:+.1f}, {ends[1]:+.1f}{alone}]"


class ClaimSource(NamedTuple):
    """Where the paper makes a claim, the unit of what is measured, and the set it is measured on."""

    where: str
    unit: str
    data: str


@dataclass(frozen=True)
class SetScores:
    """The finished cells of one set: the scores of its rows over the seeds."""

    data: str
    found: ScoredCells

    def rows(self, wanted: Callable[[TaskCell], bool]) -> list[ScoredCell]:
        """Return the finished cells that are wanted."""
        return [row for cell, row in self.found if wanted(cell)]

    def score(self, score: str, wanted: Callable[[TaskCell], bool]) -> SeededScore | None:
        """Return a score of the cells that are wanted; None where none is finished."""
        return SeededScore.of(self.rows(wanted), score)

    def score_of_row(self, row: str, score: str) -> SeededScore | None:
        """Return a score of a row of the table."""
        return self.score(score, lambda cell: cell.row == row)


def sets_of(found: ScoredCells) -> list[SetScores]:
    """Return the finished cells of each set."""
    names = dict.fromkeys(cell.data for cell, _ in found)
    return [SetScores(data, [pair for pair in found if pair[0].data == data]) for data in names]


def higher(
    claim: str, source: ClaimSource, first: SeededScore | None, second: SeededScore | None, comparisons: int = 1
) -> list[Claim]:
    """Return the claim that the first is higher than the second; nothing where one of them is not measured.

    comparisons: the number of candidates that one of the two was chosen from by its mean.

    >>> source = ClaimSource("Table 2", "mAP", "digits")
    >>> first, second = SeededScore({0: 9.0, 1: 8.0}, generated=True), SeededScore({0: 1.0, 1: 1.0})
    >>> claims = higher("A beats B", source, first, second)
    >>> claims[0].verdict, claims[0].figures
    ('holds', 'mAP 8.5 against 1.0: +7.5 [+1.1, +13.9]')
    """
    if first is None or second is None:
        return []
    difference = first - second
    if not difference.values:
        return []
    shown = difference.shown(comparisons)
    figures = f"{source.unit} {first.mean:.1f} against {second.mean:.1f}: {shown}"
    return [_claim(claim, source, difference.verdict(comparisons), figures)]


def best(
    claim: str, source: ClaimSource, first: SeededScore | None, rivals: Mapping[str, SeededScore | None]
) -> list[Claim]:
    """Return the claim that the first is higher than all rivals, with the figures of the closest.

    It holds only if it holds against each; it does not hold if it is refuted against one of them, at the level that is
    corrected for the number of rivals.
    """
    there = {name: e for name, e in rivals.items() if e is not None}
    if first is None or not there:
        return []
    differences = {name: first - e for name, e in there.items()}
    verdicts = [d.verdict() for d in differences.values()]
    refuted = any(d.verdict(len(differences)) == "does not hold" for d in differences.values())
    verdict: Verdict = "does not hold" if refuted else "holds" if set(verdicts) == {"holds"} else "undecided"
    closest = min(differences, key=lambda name: differences[name].mean)
    figures = f"{source.unit} {first.mean:.1f} against {closest} {there[closest].mean:.1f}: {differences[closest]}"
    return [_claim(claim, source, verdict, figures)]


def comparable(
    claim: str, source: ClaimSource, first: SeededScore | None, second: SeededScore | None, or_better: bool = False
) -> list[Claim]:
    """Return the claim that two numbers are within a point of each other, or that the first is better.

    >>> same = SeededScore({0: 80.0, 1: 80.2, 2: 80.1}, generated=True)
    >>> other = SeededScore({0: 80.1, 1: 80.1, 2: 80.3}, generated=True)
    >>> comparable("A and B are alike", ClaimSource("Figure 3", "mAP", "digits"), same, other)[0].verdict
    'holds'
    """
    if first is None or second is None:
        return []
    difference = first - second
    ends = difference.interval()
    if ends is None:
        verdict: Verdict = "undecided"
    else:
        low, high = ends
        inside = low > -CLOSE and (or_better or high < CLOSE)
        outside = high < -CLOSE or (not or_better and low > CLOSE)
        verdict = "holds" if inside else "does not hold" if outside else "undecided"
    figures = f"{source.unit} {first.mean:.1f} against {second.mean:.1f}: {difference}, comparable within {CLOSE:g}"
    return [_claim(claim, source, verdict, figures)]


def best_of(numbers: Sequence[SeededScore]) -> SeededScore:
    """Return the one with the highest mean."""
    return max(numbers, key=lambda number: number.mean)


def deviations(numbers: Sequence[SeededScore]) -> tuple[float, ...] | None:
    """Return the standard deviations over the seeds; None where there is one seed.

    >>> deviations([SeededScore({0: 1.0})]) is None
    True
    """
    found = [number.deviation for number in numbers]
    several = tuple(d for d in found if d is not None)
    return several if len(several) == len(found) else None


def _claim(claim: str, source: ClaimSource, verdict: Verdict, figures: str) -> Claim:
    return Claim(claim=claim, where=source.where, data=source.data, verdict=verdict, figures=figures)
