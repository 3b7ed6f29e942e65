"""Whether what the paper claims holds here: a difference, its interval, and the verdict.

A difference whose 95 % interval lies above zero holds, below zero does not hold, and around zero is undecided. The
interval is over identities, drawn with replacement, the same draws for both sides, where the cells have such draws;
else it is Student's over the seeds; one run without draws has none and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kinfolk.experiments.outcome import Claim, Verdict
from kinfolk.experiments.task_cells import Found, Scored, TaskCell

LEVEL = 0.95
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """A number, measured: its values over the seeds, and over draws of the identities where there are any.

    A draw without strangers has no AUC: it is not a number, and is left out.

    >>> better, worse = Evidence(np.array([80.0, 81.0, 82.0])), Evidence(np.array([70.0, 70.5, 72.0]))
    >>> print(better - worse)
    +10.2 [+9.5, +10.9]
    """

    values: Values
    draws: Values | None = None

    @classmethod
    def of(cls, rows: Sequence[Scored], score: str) -> Evidence:
        """Return the score of some cells, one a seed."""
        ordered = sorted(rows, key=lambda row: row.seed)
        values = np.array([row.scores[score] for row in ordered])
        if not all(score in row.draws for row in ordered):
            return cls(values)
        drawn = np.array([row.draws[score] for row in ordered])
        return cls(values, (drawn - np.nanmean(drawn, axis=1, keepdims=True) + values[:, None]).mean(axis=0))

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return float(self.values.mean())

    def __sub__(self, other: Evidence) -> Evidence:
        return both(np.subtract, self, other)

    def interval(self) -> tuple[float, float] | None:
        """Return the ends of the 95 % interval; None where one run says nothing about it."""
        if self.draws is not None:
            low, high = np.nanquantile(self.draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            return float(low), float(high)
        if len(self.values) < 2:
            return None
        reach = stats.t.ppf((1 + LEVEL) / 2, len(self.values) - 1) * stats.sem(self.values)
        return self.mean - float(reach), self.mean + float(reach)

    def verdict(self) -> Verdict:
        """Say whether the number is above zero."""
        ends = self.interval()
        if ends is None or ends[0] <= 0 <= ends[1]:
            return "undecided"
        return "holds" if ends[0] > 0 else "does not hold"

    def __str__(self) -> str:
        ends = self.interval()
        shown = "one run, no interval" if ends is None else f"{ends[0]:+.1f}, {ends[1]:+.1f}"
        return f"{self.mean:+.1f} [{shown}]"


def both(join: Callable[[Values, Values], Values], first: Evidence, second: Evidence) -> Evidence:
    """Return a number made of two, seed by seed and draw by draw; a single run is paired with every seed.

    >>> both(np.maximum, Evidence(np.array([1.0, 4.0])), Evidence(np.array([2.0, 3.0]))).values
    array([2., 4.])
    """
    one, two = first.values, second.values
    if 1 not in (len(one), len(two)):
        finished = min(len(one), len(two))
        one, two = one[:finished], two[:finished]
    values = join(*np.broadcast_arrays(one, two))
    if first.draws is None or second.draws is None:
        return Evidence(values)
    return Evidence(values, join(first.draws, second.draws))


def best_of(numbers: Sequence[Evidence]) -> Evidence:
    """Return the one with the highest mean."""
    return max(numbers, key=lambda number: number.mean)


class Where(NamedTuple):
    """Where a claim stands in the paper, and the score it is about."""

    where: str
    score: str
    unit: str


@dataclass(frozen=True)
class Measurements:
    """The cells of one set, to be asked for evidence."""

    data: str
    found: Found

    def rows(self, wanted: Callable[[TaskCell], bool]) -> list[Scored]:
        """Return the finished cells that are wanted."""
        return [row for cell, row in self.found if cell.data == self.data and wanted(cell)]

    def evidence(self, score: str, wanted: Callable[[TaskCell], bool]) -> Evidence | None:
        """Return a score of the cells that are wanted; None where none is finished."""
        rows = self.rows(wanted)
        return Evidence.of(rows, score) if rows else None

    def of_row(self, row: str, score: str) -> Evidence | None:
        """Return a score of a row of the table."""
        return self.evidence(score, lambda cell: cell.row == row)


def higher(claim: str, where: Where, data: str, first: Evidence | None, second: Evidence | None) -> list[Claim]:
    """Return the claim that the first is higher than the second, with its verdict; nothing where one is missing.

    >>> place = Where("Table 2", "map", "mAP")
    >>> told = higher("A beats B", place, "digits", Evidence(np.ones(3)), Evidence(np.zeros(3)))
    >>> told[0].verdict, told[0].figures
    ('holds', 'mAP 1.0 against 0.0: +1.0 [+1.0, +1.0]')
    """
    if first is None or second is None:
        return []
    difference = first - second
    figures = f"{where.unit} {first.mean:.1f} against {second.mean:.1f}: {difference}"
    return [Claim(claim=claim, where=where.where, data=data, verdict=difference.verdict(), figures=figures)]


def sets_of(found: Found) -> list[Measurements]:
    """Return the measurements of each set."""
    return [Measurements(data, found) for data in dict.fromkeys(cell.data for cell, _ in found)]
