"""Studies in cells: one set, one feature method, one task that is done with the features, one seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk.experiments.feature_methods import FeatureCache, FeatureMethod
from kinfolk.experiments.generated_sets import Size, generated_set
from kinfolk.experiments.markdown import spread
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.results import Chart, Claim, ExperimentResult, Table
from kinfolk.experiments.resume import CellStore, Data, Load, commit, hashed, made_by, resume, versions

ScoredCells = Sequence[tuple["TaskCell", "ScoredCell"]]


class Task(Protocol):
    """What is done with features: clustering, ranking, scoring."""

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
    method: FeatureMethod
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
class ScoredCell:
    """A finished cell: scores x 100, what was chosen on the training part, and how it was made.

    trained is False where a fit kept the training-free form. seconds: from the raw features of the test part to the
    result, of the clock; fit_seconds: what was learned before, features and thresholds; took: what the cell took here,
    without what an earlier one had made for it. draws: scores on resamples of the identities, the same resamples in all
    cells of a set. curves: points of a line, such as a ROC.
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
    took: float = 0.0
    draws: Mapping[str, Sequence[float]] = field(default_factory=dict)
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, cell: TaskCell, key: str, **found: Any) -> ScoredCell:
        """Return the scored cell, with the commit and the versions that made it."""
        return cls(key, cell.data, cell.row, cell.seed, **found, commit=commit(), versions=versions())


@dataclass(frozen=True)
class Study:
    """A table or a figure of the paper.

    about      one sentence: what is measured
    generated  names of the generated sets that replace the paper's
    cells      cells(names of sets, seeds, size of the generated sets or None where sets are given)
    measure    measures one cell
    tables     a table for each set of what was found, beside the paper's numbers
    charts     figures of it
    claims     the paper's claims about it, and whether they hold
    slow       whether a cell is measured only if all methods are requested
    make       makes a generated set
    learns     whether a set needs a training part
    """

    title: str
    about: str
    generated: Sequence[str]
    cells: Callable[[Sequence[str], Sequence[int], Size | None], list[TaskCell]]
    measure: Callable[[FeatureCache, TaskCell, Data, str], ScoredCell]
    tables: Callable[[ScoredCells], list[Table]] = lambda found: []
    charts: Callable[[ScoredCells], list[Chart]] = lambda found: []
    claims: Callable[[ScoredCells], list[Claim]] = lambda found: []
    slow: Callable[[TaskCell], bool] = lambda cell: False
    make: Callable[[str, int, Size], Data] = generated_set
    learns: bool = True

    def run(
        self,
        store: CellStore[ScoredCell],
        seeds: Sequence[int],
        given: Mapping[str, Data] | None = None,
        size: Size = "usual",
        echo: Callable[[str], object] = print,
        methods: Collection[str] | None = None,
        also_generated: bool = False,
    ) -> ScoredCells:
        """Measure the cells that are not in the store yet, on the sets given, or on the generated ones, or on both.

        methods: names of rows; ["all"]; or None for all but the slow ones.
        """
        cells, load = self.plan(seeds, given, size, methods, also_generated)
        feature_cache = FeatureCache()

        def timed(cell: TaskCell, data: Data, key: str) -> ScoredCell:
            start = time.perf_counter()
            row = self.measure(feature_cache, cell, data, key)
            return replace(row, took=round(time.perf_counter() - start, 2))

        rows = resume(cells, load, store, timed, progress_line, echo)
        return list(zip(cells, rows, strict=True))

    def plan(
        self,
        seeds: Sequence[int],
        given: Mapping[str, Data] | None,
        size: Size = "usual",
        methods: Collection[str] | None = None,
        also_generated: bool = False,
    ) -> tuple[list[TaskCell], Load]:
        """Return the cells and the loader of their sets."""
        sets = given or {}
        cells = self.cells(self.generated, seeds, size) if also_generated or not sets else []
        cells += self.cells(list(sets), seeds, None) if sets else []
        load = lambda name, seed: sets[name] if name in sets else self.make(name, seed, size)  # noqa: E731
        return self._selected(cells, methods), load

    def _selected(self, cells: list[TaskCell], methods: Collection[str] | None) -> list[TaskCell]:
        if methods is None:
            return [cell for cell in cells if not self.slow(cell)]
        if "all" in methods:
            return cells
        rows = dict.fromkeys(cell.row for cell in cells)
        if unknown := [name for name in methods if name not in rows]:
            raise InputError(f"there is no method {unknown[0]!r}; there are all, {', '.join(rows)}")
        return [cell for cell in cells if cell.row in methods]

    def result(self, name: str, found: ScoredCells, quick: bool = False) -> ExperimentResult:
        """Return all that was found, for a report."""
        rows = [row for _, row in found]
        tables = [
            table.model_copy(update=dict(made=_made([row for cell, row in found if cell.data == table.data])))
            for table in self.tables(found)
        ]
        return ExperimentResult(
            name=name,
            title=self.title,
            about=self.about,
            quick=quick,
            seeds=len({row.seed for row in rows}),
            tables=tuple(tables),
            charts=tuple(self.charts(found)),
            claims=tuple(self.claims(found)),
            cells=len(rows),
            seconds=_seconds(rows),
            versions={name: version for row in rows for name, version in row.versions.items()},
        )


def _seconds(rows: Sequence[ScoredCell]) -> float:
    return round(sum(row.took or row.seconds + row.fit_seconds for row in rows), 1)


def _made(rows: Sequence[ScoredCell]) -> str:
    seeds = sorted({row.seed for row in rows})
    return f"{made_by(rows)} Seeds {', '.join(map(str, seeds))}; {_seconds(rows):,.0f} s."


def progress_line(cell: TaskCell, row: ScoredCell, new: bool) -> str:
    """Return the line about a finished cell."""
    scores = "   ".join(f"{name} {value:.{3 if name == 'enr' else 1}f}" for name, value in row.scores.items())
    note = f"{row.took:.1f} s" if new else "as measured before"
    return f"{cell.data:<24} {cell.row:<32} seed {cell.seed}   {scores}   {note}"


def beside_the_paper(
    table: str,
    groups: Sequence[Sequence[str]],
    found: ScoredCells,
    scores: Mapping[str, str],
    paper_columns: Mapping[str, str],
) -> list[Table]:
    """Return a table for each set: a row for each method, mean ± spread over seeds, and the paper's numbers.

    groups: names of the rows; scores: name in the file -> head of the column; paper_columns likewise. The best mean of
    a column is bold.
    """
    paper = {row["method"]: row for row in paper_table(table)}
    head = ("", *scores.values(), "s", *(f"{text}, the paper" for text in paper_columns.values()))
    rules = np.cumsum([len(group) for group in groups])[:-1].tolist()
    tables = []
    for data in dict.fromkeys(cell.data for cell, _ in found):
        here = [(cell.row, scored) for cell, scored in found if cell.data == data]
        runs = {row: [scored for name, scored in here if name == row] for group in groups for row in group}
        rows = []
        for row, made in runs.items():
            measured = [_mark(name, made, runs.values()) for name in scores]
            seconds = f"{np.mean([scored.seconds for scored in made]):.1f}" if made else "–"
            rows.append((row, *measured, seconds, *(paper.get(row, {}).get(column, "") for column in paper_columns)))
        tables.append(Table(data=data, head=head, rows=tuple(rows), rules=tuple(rules)))
    return tables


def _mark(name: str, made: Sequence[ScoredCell], others: Iterable[Sequence[ScoredCell]]) -> str:
    """Return mean and spread of a score, bold where no other row has a higher mean."""
    means = [float(np.mean([scored.scores[name] for scored in row])) for row in (made, *others) if row]
    text = spread([scored.scores[name] for scored in made])
    return f"**{text}**" if made and means[0] >= max(means) else text


def needed_seeds(data_is_generated: bool, method: FeatureMethod, random: bool, seeds: Iterable[int]) -> list[int]:
    """Return the seeds that can make a difference: one alone where nothing is random.

    >>> from kinfolk.experiments.feature_methods import ORIGINAL
    >>> needed_seeds(False, ORIGINAL, False, range(3)), needed_seeds(False, ORIGINAL, True, range(3))
    ([0], [0, 1, 2])
    """
    given = list(seeds)
    learns = method.settings is not None and method.labelled
    return given if data_is_generated or random or learns else given[:1]
