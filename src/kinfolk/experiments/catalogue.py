"""Everything of the paper that is measured here, by name, in the order of the paper's source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from kinfolk._core.errors import InputError
from kinfolk._core.files import adding
from kinfolk.experiments import (
    ablations,
    clustering_tables,
    edge_tables,
    noise_curves,
    object_types,
    reid_tables,
    scales,
)
from kinfolk.experiments.case_study import case_study
from kinfolk.experiments.closeup import closeup
from kinfolk.experiments.generated_sets import CELEBRITIES, GENERATED_SETS, PERSONS, Size, generated_set
from kinfolk.experiments.results import FORMER_NAMES, RUN_KIND, ExperimentResult, read_result
from kinfolk.experiments.resume import CellStore, Data, finished_cells, hashed
from kinfolk.experiments.task_cells import ScoredCell, Study
from kinfolk.experiments.theorem import theorem

_STUDIES: dict[str, Study] = {
    **edge_tables.STUDIES,
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
Single = Callable[[Mapping[str, Data], int, bool, Callable[[str], object]], ExperimentResult]
# measured in one go, with one seed: function(sets, seed, quick, echo), and the generated sets
SINGLES: dict[str, tuple[Single, Sequence[str]]] = {
    "figure8": (case_study, (CELEBRITIES, PERSONS)),
    "theorem": (theorem, tuple(GENERATED_SETS)),
    "closeup": (closeup, (CELEBRITIES, PERSONS)),
}
EXPERIMENT_NAMES = (*STUDIES, *SINGLES)
# on a given set these measure what others have measured already
TWINS = {"table5": "table1", "table10": "table3"}


def experiment_names(name: str) -> list[str]:
    """Return the experiments of a name: itself, or all.

    >>> experiment_names("table2"), len(experiment_names("all"))
    (['table2'], 19)
    """
    if name == "all":
        return list(EXPERIMENT_NAMES)
    if name not in EXPERIMENT_NAMES:
        raise InputError(f"unknown table or figure {name!r}; there are all, {', '.join(EXPERIMENT_NAMES)}")
    return [name]


def reproduce(
    name: str,
    folder: Path,
    seeds: Sequence[int] = range(3),
    given: Mapping[str, Data] | None = None,
    size: Size = "usual",
    echo: Callable[[str], object] = print,
    methods: Collection[str] | None = None,
    also_generated: bool = False,
) -> ExperimentResult:
    """Measure a table or a figure and write the result into the folder of the run.

    Cells that are finished there, for this or for another table, are not measured again; results there about other
    sets are kept.

    Parameters
    ----------
    name : one of `EXPERIMENT_NAMES`.
    folder : of the run; it gets cells.jsonl and NAME.json.
    seeds : of the training, and of generated data.
    given : sets by name; without any, the generated sets are measured.
    size : of the generated sets.
    echo : gets a line for each finished cell.
    methods : names of rows; ["all"] for all; None for all that are not slow.
    also_generated : measure the generated sets beside the given ones.

    Returns
    -------
    result : tables beside the paper's numbers, charts, claims.

    Examples
    --------
    >>> import tempfile
    >>> run = Path(tempfile.mkdtemp())
    >>> reproduce("table5", run, [0], size="quick", echo=lambda line: None).tables[0].data
    'person_like (generated)'
    >>> sorted(file.name for file in run.iterdir())
    ['cells.jsonl', 'manifest.json', 'table5.json']
    """
    with adding(folder, RUN_KIND):
        if name in SINGLES:
            generated = SINGLES[name][1] if also_generated or not given else ()
            sets = {each: generated_set(each, 0, size) for each in generated} | dict(given or {})
            return _set_by_set(name, folder, sets, size == "quick", echo)
        study, store = STUDIES[name], CellStore(folder / "cells.jsonl", ScoredCell)
        earlier = _known(name, folder)
        study.run(store, seeds, given, size, echo, methods, also_generated)
        cells, load = study.plan(seeds, given, size, ["all"], also_generated)
        result = study.result(name, finished_cells(cells, load, store), quick=size == "quick")
        if earlier is not None:
            result = result.joined(earlier)
        result.save(folder)
        return result


def _set_by_set(
    name: str, folder: Path, sets: Mapping[str, Data], quick: bool, echo: Callable[[str], object]
) -> ExperimentResult:
    """Measure what has no cells, and write it after each set, so that the next run goes on from there."""
    result = _known(name, folder)
    for each, data in sets.items():
        # by its former name, so that sets measured by kinfolk 0.1 are not measured again
        key = hashed(dict(name=FORMER_NAMES.get(name, name), quick=quick, data=data.fingerprint))
        if result is not None and result.keys.get(each) == key:
            echo(f"{each}: as measured before")
            continue
        found = SINGLES[name][0]({each: data}, 0, quick, echo).model_copy(update=dict(keys={each: key}))
        result = found if result is None else found.joined(result)
        result.save(folder)
    assert result is not None, "an experiment has at least one set"
    return result


def _known(name: str, folder: Path) -> ExperimentResult | None:
    files = [folder / f"{each}.json" for each in (name, FORMER_NAMES.get(name, name))]
    return next((read_result(file) for file in files if file.exists()), None)
