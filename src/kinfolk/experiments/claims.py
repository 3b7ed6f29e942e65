"""Whether what the paper claims holds here: a difference, its interval, and the verdict.

A claim that one number is higher than another holds where the 95 % interval of their difference lies above zero, does
not hold where it lies below, and is undecided otherwise. The interval covers what could have come out otherwise:

    generated sets   each seed has new identities and a new training: Student's interval over the seeds
    given sets       r^2 = r_identities^2 + r_seeds^2: the identities are drawn with replacement, the same draws for
                     both sides, and the seeds of the training have Student's interval

One seed of a generated set is taken like a given set: by its identities alone, and the figures say so. Where there is
neither a second seed nor a draw, or all seeds came out the same, there is no interval and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kinfolk.experiments.generated_sets import STANDS
from kinfolk.experiments.markdown import spread
from kinfolk.experiments.results import Claim, Verdict
from kinfolk.experiments.task_cells import Found, Scored, TaskCell

LEVEL = 0.95
CLOSE = 1.0  # points: what is called comparable
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """A number, measured with some seeds: its value for each, and its value on draws of the identities.

    generated: each seed has a set of its own. A draw without strangers has no AUC: it is not a number, and left out.

    >>> better = Evidence({0: 80.0, 1: 81.0, 2: 82.0}, generated=True)
    >>> print(better - Evidence({0: 70.0, 1: 70.5, 2: 72.0}, generated=True))
    +10.2 [+9.4, +10.9]
    """

    values: Mapping[int, float]
    draws: Mapping[int, Values] | None = None
    generated: bool = False

    @classmethod
    def of(cls, rows: Iterable[Scored], score: str) -> Evidence | None:
        """Return the score of some cells, one a seed; None where there is none."""
        scored = {row.seed: row for row in rows if score in row.scores}
        if not scored:
            return None
        values = {seed: row.scores[score] for seed, row in scored.items()}
        generated = next(iter(scored.values())).data in STANDS
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

    def __sub__(self, other: Evidence) -> Evidence:
        """Return the difference, seed by seed and draw by draw.

        On a given set what has nothing random has one run, which goes with every seed of the other.
        """
        first, second = self._with_seeds_of(other), other._with_seeds_of(self)
        common = sorted(first.values.keys() & second.values.keys())
        values = {seed: first.values[seed] - second.values[seed] for seed in common}
        if first.draws is None or second.draws is None:
            return Evidence(values, generated=self.generated)
        draws = {seed: first.draws[seed] - second.draws[seed] for seed in common}
        return Evidence(values, draws, self.generated)

    def _with_seeds_of(self, other: Evidence) -> Evidence:
        if self.generated or len(self.values) > 1:
            return self
        seeds, (value,) = [*self.values, *other.values], self.values.values()
        drawn = None if self.draws is None else dict.fromkeys(seeds, next(iter(self.draws.values())))
        return Evidence(dict.fromkeys(seeds, value), drawn, self.generated)

    def __neg__(self) -> Evidence:
        values = {seed: -value for seed, value in self.values.items()}
        drawn = None if self.draws is None else {seed: -draws for seed, draws in self.draws.items()}
        return Evidence(values, drawn, self.generated)

    def interval(self, comparisons: int = 1) -> tuple[float, float] | None:
        """Return the ends of the interval; wider where the number is one of several that could have been taken."""
        level = 1 - (1 - LEVEL) / comparisons
        seeds = self._reach_of_seeds(level)
        if self.generated and len(self.values) > 1:
            return None if seeds == 0 else (self.mean - seeds, self.mean + seeds)
        if self.draws is None:
            return None
        drawn = np.mean(list(self.draws.values()), axis=0)
        low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2]) - np.nanmean(drawn)
        return self.mean - float(np.hypot(low, seeds)), self.mean + float(np.hypot(high, seeds))

    def _reach_of_seeds(self, level: float) -> float:
        if len(self.values) < 2:
            return 0.0
        return float(stats.t.ppf((1 + level) / 2, len(self.values) - 1) * stats.sem(list(self.values.values())))

    def verdict(self, comparisons: int = 1, above: float = 0.0) -> Verdict:
        """Say whether the number is above zero, or above another value."""
        ends = self.interval(comparisons)
        if ends is None or np.isnan(ends).any():
            return "undecided"
        return "holds" if ends[0] > above else "does not hold" if ends[1] < above else "undecided"

    def __str__(self) -> str:
        return self.shown()

    def shown(self, comparisons: int = 1) -> str:
        """Return the mean and the interval."""
        ends = self.interval(comparisons)
        if ends is None:
            return f"{self.mean:+.1f} [no interval]"
        alone = ", one seed: identities alone" if len(self.values) == 1 and self.generated else ""
        return f"{self.mean:+.1f} [{ends[0]:+.1f}, {ends[1]:+.1f}{alone}]"


class Place(NamedTuple):
    """Where a claim stands in the paper, and what is measured."""

    where: str
    unit: str
    data: str


@dataclass(frozen=True)
class Measurements:
    """The cells of one set, to be asked for evidence."""

    data: str
    found: Found

    def rows(self, wanted: Callable[[TaskCell], bool]) -> list[Scored]:
        """Return the finished cells that are wanted."""
        return [row for cell, row in self.found if wanted(cell)]

    def evidence(self, score: str, wanted: Callable[[TaskCell], bool]) -> Evidence | None:
        """Return a score of the cells that are wanted; None where none is finished."""
        return Evidence.of(self.rows(wanted), score)

    def of_row(self, row: str, score: str) -> Evidence | None:
        """Return a score of a row of the table."""
        return self.evidence(score, lambda cell: cell.row == row)


def sets_of(found: Found) -> list[Measurements]:
    """Return the measurements of each set."""
    names = dict.fromkeys(cell.data for cell, _ in found)
    return [Measurements(data, [pair for pair in found if pair[0].data == data]) for data in names]


def higher(
    claim: str, place: Place, first: Evidence | None, second: Evidence | None, comparisons: int = 1
) -> list[Claim]:
    """Return the claim that the first is higher than the second; nothing where one of them is not measured.

    comparisons: of how many candidates one of the two was chosen by its mean.

    >>> place = Place("Table 2", "mAP", "digits")
    >>> told = higher("A beats B", place, Evidence({0: 9.0, 1: 8.0}, generated=True), Evidence({0: 1.0, 1: 1.0}))
    >>> told[0].verdict, told[0].figures
    ('holds', 'mAP 8.5 against 1.0: +7.5 [+1.1, +13.9]')
    """
    if first is None or second is None:
        return []
    difference = first - second
    if not difference.values:
        return []
    shown = difference.shown(comparisons)
    figures = f"{place.unit} {first.mean:.1f} against {second.mean:.1f}: {shown}"
    return [_claim(claim, place, difference.verdict(comparisons), figures)]


def best(claim: str, place: Place, first: Evidence | None, rivals: Mapping[str, Evidence | None]) -> list[Claim]:
    """Return the claim that the first is higher than all rivals, told by the one that is closest.

    It holds only if it holds against each; it does not hold if it surely does not against one of them.
    """
    there = {name: e for name, e in rivals.items() if e is not None}
    if first is None or not there:
        return []
    differences = {name: first - e for name, e in there.items()}
    verdicts = [d.verdict() for d in differences.values()]
    surely_not = any(d.verdict(len(differences)) == "does not hold" for d in differences.values())
    verdict: Verdict = "does not hold" if surely_not else "holds" if set(verdicts) == {"holds"} else "undecided"
    closest = min(differences, key=lambda name: differences[name].mean)
    figures = f"{place.unit} {first.mean:.1f} against {closest} {there[closest].mean:.1f}: {differences[closest]}"
    return [_claim(claim, place, verdict, figures)]


def comparable(
    claim: str, place: Place, first: Evidence | None, second: Evidence | None, or_better: bool = False
) -> list[Claim]:
    """Return the claim that two numbers are within a point of each other, or that the first is better.

    >>> same = Evidence({0: 80.0, 1: 80.2, 2: 80.1}, generated=True)
    >>> other = Evidence({0: 80.1, 1: 80.1, 2: 80.3}, generated=True)
    >>> comparable("A and B are alike", Place("Figure 3", "mAP", "digits"), same, other)[0].verdict
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
    figures = f"{place.unit} {first.mean:.1f} against {second.mean:.1f}: {difference}, comparable within {CLOSE:g}"
    return [_claim(claim, place, verdict, figures)]


def best_of(numbers: Sequence[Evidence]) -> Evidence:
    """Return the one with the highest mean."""
    return max(numbers, key=lambda number: number.mean)


def deviations(numbers: Sequence[Evidence]) -> tuple[float, ...] | None:
    """Return the standard deviations over the seeds; None where there is one seed.

    >>> deviations([Evidence({0: 1.0})]) is None
    True
    """
    found = [number.deviation for number in numbers]
    several = tuple(d for d in found if d is not None)
    return several if len(several) == len(found) else None


def _claim(claim: str, place: Place, verdict: Verdict, figures: str) -> Claim:
    return Claim(claim=claim, where=place.where, data=place.data, verdict=verdict, figures=figures)
