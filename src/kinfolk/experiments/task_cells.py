"""Tables about what features are for, in cells: a set, features, what is done with them, a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from kinfolk.experiments.forms import Method, Workshop
from kinfolk.experiments.markdown import markdown, spread
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.resume import Data, Load, Results, commit, hashed, resume, versions

Found = Sequence[tuple["TaskCell", "Scored"]]


class Task(Protocol):
    """What is done with features."""

    def row(self, features: str) -> str:
        """Return the name of its row in the table, for features of this name."""

    def facts(self, data: Data) -> Mapping[str, Any]:
        """Return settings and whatever of the data the fingerprint leaves out."""


@dataclass(frozen=True)
class TaskCell:
    """One number of a table, on the test part of a set.

    seed: of the method, and of the data where they are generated.
    """

    data: str
    method: Method
    task: Task
    seed: int = 0

    @property
    def row(self) -> str:
        """Name of the row in the table, as the paper writes it."""
        return self.task.row(self.method.name)

    def key(self, data: Data) -> str:
        """Return the hash of everything the number depends on, the program apart."""
        settings = None if self.method.settings is None else dict(self.method.settings)
        features = dict(settings=settings, labelled=self.method.labelled, seed=self.seed, data=data.fingerprint)
        return hashed(dict(features=features, task=dict(self.task.facts(data))))


@dataclass(frozen=True)
class Scored:
    """What came out: scores x 100, what was chosen on the training part, and how it was made.

    trained is False where a fit kept the training-free form. seconds: from the raw features of the test part to the
    result, of the clock; fit_seconds: what was learned before, features and thresholds.
    """

    key: str
    data: str
    row: str
    seed: int
    scores: Mapping[str, float]
    chosen: Mapping[str, Any]
    trained: bool
    seconds: float
    fit_seconds: float
    commit: str
    versions: Mapping[str, str]

    @classmethod
    def of(cls, cell: TaskCell, key: str, **found: Any) -> Scored:
        """Return the row of a cell, with who made it."""
        return cls(key, cell.data, cell.row, cell.seed, **found, commit=commit(), versions=versions())


@dataclass(frozen=True)
class Study:
    """A table of the paper.

    generated  the regimes that stand for the paper's sets: name -> make(seed, quick)
    cells      cells(names of sets, seeds, whether these are generated)
    measure    measures one cell
    grid       the table of what was found, beside the paper's numbers
    """

    generated: Mapping[str, Callable[[int, bool], Data]]
    cells: Callable[[Sequence[str], Sequence[int], bool], list[TaskCell]]
    measure: Callable[[Workshop, TaskCell, Data, str], Scored]
    grid: Callable[[Found], Grid]

    def run(
        self,
        results: Results[Scored],
        seeds: Sequence[int],
        given: Mapping[str, Data] | None = None,
        quick: bool = False,
        say: Callable[[str], object] = print,
    ) -> Found:
        """Measure the cells that are not in the results yet, on the sets given or on the generated ones."""
        cells, load = self.plan(seeds, given, quick)
        workshop = Workshop()
        rows = resume(cells, load, results, lambda *asked: self.measure(workshop, *asked), said, say)
        return list(zip(cells, rows, strict=True))

    def plan(
        self, seeds: Sequence[int], given: Mapping[str, Data] | None, quick: bool = False
    ) -> tuple[list[TaskCell], Load]:
        """Return the cells and the loader of their sets."""
        if given:
            return self.cells(list(given), seeds, False), lambda name, seed: given[name]
        make = lru_cache(maxsize=4)(lambda name, seed: self.generated[name](seed, quick))
        return self.cells(list(self.generated), seeds, True), make


def said(cell: TaskCell, row: Scored, new: bool) -> str:
    """Return the line about a finished cell."""
    scores = "   ".join(f"{name} {value:.1f}" for name, value in row.scores.items())
    note = f"{row.seconds:.1f} s, learned in {row.fit_seconds:.1f} s" if new else "as measured before"
    return f"{cell.data:<13} {cell.row:<32} seed {cell.seed}   {scores}   {note}"


@dataclass(frozen=True)
class Grid:
    """A table as texts: its name, the head and the rows; `rules`: before which rows a line is drawn."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    rules: tuple[int, ...] = ()

    @property
    def markdown(self) -> str:
        """The table for a page."""
        return markdown(self.head, self.rows)


def beside_the_paper(
    title: str,
    table: str,
    groups: Sequence[Sequence[str]],
    found: Found,
    scores: Mapping[str, str],
    paper_columns: Mapping[str, str],
) -> Grid:
    """Return the table: a row for each method, mean ± spread over seeds for each set, and the paper's numbers.

    groups: names of the rows; scores: name in the file -> head of the column; paper_columns likewise. The best mean of
    a column is bold.
    """
    sets = list(dict.fromkeys(cell.data for cell, _ in found))
    paper = {row["method"]: row for row in paper_table(table)}
    head = ["", *(f"{data} {text}" for data in sets for text in (*scores.values(), "s"))]
    head += [f"{text}, the paper" for text in paper_columns.values()]
    values = {
        (data, name, row): _column(found, data, row, lambda scored, name=name: scored.scores[name])  # type: ignore[misc]
        for data in sets
        for name in scores
        for group in groups
        for row in group
    }
    best = {
        (d, n): max((_mean(v) for (e, m, _), v in values.items() if (d, n) == (e, m))) for d in sets for n in scores
    }
    rows: list[tuple[str, ...]] = []
    rules: list[int] = []
    for group in groups:
        rules.append(len(rows))
        for row in group:
            line = [row]
            for data in sets:
                shown = [
                    (spread(values[data, name, row]), values[data, name, row], best[data, name]) for name in scores
                ]
                line += [f"**{text}**" if v and _mean(v) >= top else text for text, v, top in shown]
                seconds = _column(found, data, row, lambda scored: scored.seconds)
                line.append(f"{_mean(seconds):.1f}" if seconds else "–")
            line += [paper.get(row, {}).get(column, "").replace("-", "–") for column in paper_columns]
            rows.append(tuple(line))
    return Grid(title, tuple(head), tuple(rows), tuple(rules[1:]))


def needed_seeds(data_is_generated: bool, method: Method, random: bool, seeds: Iterable[int]) -> list[int]:
    """Return the seeds that can make a difference: one alone where nothing is random.

    >>> from kinfolk.experiments.forms import ORIGINAL
    >>> needed_seeds(False, ORIGINAL, False, range(3)), needed_seeds(False, ORIGINAL, True, range(3))
    ([0], [0, 1, 2])
    """
    given = list(seeds)
    learns = method.settings is not None and method.labelled
    return given if data_is_generated or random or learns else given[:1]


def _column(found: Found, data: str, row: str, value: Callable[[Scored], float]) -> list[float]:
    return [value(scored) for cell, scored in found if (cell.data, cell.row) == (data, row)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("-inf")
