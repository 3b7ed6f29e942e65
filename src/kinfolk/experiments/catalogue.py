"""Everything of the paper that is measured here, by name, in the order of the paper's source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from kinfolk._core.errors import InputError
from kinfolk.experiments import (
    ablations,
    clustering_tables,
    edge_tests,
    noise_curves,
    object_types,
    reid_tables,
    scales,
)
from kinfolk.experiments.case_study import case_study
from kinfolk.experiments.closeup import look
from kinfolk.experiments.generated_sets import CELEBRITIES, PERSONS, STANDS, Size, stand_in
from kinfolk.experiments.results import Outcome, read_outcome
from kinfolk.experiments.resume import Data, Results, finished_cells, hashed
from kinfolk.experiments.task_cells import Scored, Study
from kinfolk.experiments.theorem import theorem

_STUDIES: dict[str, Study] = {
    **edge_tests.STUDIES,
    "figure3": noise_curves.STUDY,
    **object_types.STUDIES,
    **clustering_tables.STUDIES,
    **reid_tables.STUDIES,
    **scales.STUDIES,
    **ablations.STUDIES,
}
STUDIES = {
    name: _STUDIES[name]
    for name in (
        *("table1", "figure3", "table2", "figure4", "table3", "table4", "table5", "figure5", "table6", "table7"),
        *("table8", "figure6", "table9", "figure7", "table10", "table11"),
    )
}
Single = Callable[[Mapping[str, Data], int, bool, Callable[[str], object]], Outcome]
# measured in one go, with one seed: function(sets, seed, quick, say), and the generated sets
SINGLES: dict[str, tuple[Single, Sequence[str]]] = {
    "figure8": (case_study, (CELEBRITIES, PERSONS)),
    "theorem": (theorem, tuple(STANDS)),
    "look": (look, (CELEBRITIES, PERSONS)),
}
NAMES = (*STUDIES, *SINGLES)
CELLS = "cells.jsonl"
# on a given set these measure what others have measured already
TWINS = {"table5": "table1", "table10": "table3"}


def asked_names(name: str) -> list[str]:
    """Return the experiments of a name: itself, or all.

    >>> asked_names("table2"), len(asked_names("all"))
    (['table2'], 19)
    """
    if name == "all":
        return list(NAMES)
    if name not in NAMES:
        raise InputError(f"unknown table or figure {name!r}; there are all, {', '.join(NAMES)}")
    return [name]


def reproduce(
    name: str,
    folder: Path,
    seeds: Sequence[int] = range(3),
    given: Mapping[str, Data] | None = None,
    size: Size = "usual",
    say: Callable[[str], object] = print,
    methods: Collection[str] | None = None,
    also_generated: bool = False,
) -> Outcome:
    """Measure a table or a figure and write what was found into the folder of the run.

    Cells that are finished there, for this or for another table, are not measured again; what is known there about
    other sets is kept.

    >>> import tempfile
    >>> run = Path(tempfile.mkdtemp())
    >>> reproduce("table5", run, [0], size="quick", say=lambda line: None).tables[0].data
    'person_like (generated)'
    >>> sorted(file.name for file in run.iterdir())
    ['cells.jsonl', 'table5.json']
    """
    if name in SINGLES:
        generated = SINGLES[name][1] if also_generated or not given else ()
        sets = {each: stand_in(each, 0, size) for each in generated} | dict(given or {})
        return _set_by_set(name, folder, sets, size == "quick", say)
    study, results = STUDIES[name], Results(folder / CELLS, Scored)
    study.run(results, seeds, given, size, say, methods, also_generated)
    cells, load = study.plan(seeds, given, size, ["all"], also_generated)
    outcome = study.outcome(name, finished_cells(cells, load, results), quick=size == "quick")
    if (earlier := _known(name, folder)) is not None:
        outcome = outcome.joined(earlier)
    outcome.save(folder)
    return outcome


def _set_by_set(
    name: str, folder: Path, sets: Mapping[str, Data], quick: bool, say: Callable[[str], object]
) -> Outcome:
    """Measure what has no cells, and write it after each set, so that the next run goes on from there."""
    outcome = _known(name, folder)
    for each, data in sets.items():
        key = hashed(dict(name=name, quick=quick, data=data.fingerprint))
        if outcome is not None and outcome.keys.get(each) == key:
            say(f"{each}: as measured before")
            continue
        found = SINGLES[name][0]({each: data}, 0, quick, say).model_copy(update=dict(keys={each: key}))
        outcome = found if outcome is None else found.joined(outcome)
        outcome.save(folder)
    assert outcome is not None, "an experiment has at least one set"
    return outcome


def _known(name: str, folder: Path) -> Outcome | None:
    file = folder / f"{name}.json"
    return read_outcome(file) if file.exists() else None
