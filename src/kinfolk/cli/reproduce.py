"""kinfolk reproduce: the paper's tables, measured here, beside the paper's numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from kinfolk.cli import options
from kinfolk.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kinfolk.experiments.tables import NoiseTable
    from kinfolk.experiments.task_cells import Grid, Study


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="table1, table5: edge noise; table3, table10: clusters; table4, table11: re-identification.",
        ),
    ],
    data: Annotated[list[Path] | None, typer.Option(help="Labelled features to use instead of generated ones.")] = None,
    part: options.Part = None,
    seeds: Annotated[int, typer.Option(help="How many seeds, of the training and of generated data.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="One seed and small generated sets.")] = False,
    methods: Annotated[
        str | None,
        typer.Option(
            help="all: also Clusformer, STAR-FC and Ada-NETS of table3 and table10, a minute of training a seed; "
            "or names of rows with commas between them."
        ),
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Where finished cells are kept; kinfolk-TABLE.jsonl unless told.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure a table of the paper and print it beside the paper's numbers.

    Without --data the generated regimes are used, and said to be. Tables 3, 4, 10 and 11 need a set with the parts
    train and test; thresholds are tuned on train. Finished cells are kept: the same command goes on where it stopped.

    [bold]Example:[/bold]  kinfolk reproduce table1 --data ms-celeb/features/part1_test.bin
    """
    from kinfolk.experiments import clustering_tables, reid_tables
    from kinfolk.experiments.tables import TABLES

    studies = {**clustering_tables.STUDIES, **reid_tables.STUDIES}
    if seeds < 1:
        raise InputError(f"at least one seed is needed, not {seeds}")
    seeds = 1 if quick else seeds
    if name in TABLES:
        if results is not None:
            raise InputError(f"{name} is measured in one go and keeps no --results")
        if methods is not None:
            raise InputError(f"{name} has no methods to choose from: leave --methods out")
        _noise(name, data or [], part, seeds, as_json)
    elif name in studies:
        if part is not None:
            raise InputError(f"{name} uses both parts, train and test: leave --part out")
        _study(studies[name], results or Path(f"kinfolk-{name}.jsonl"), data or [], seeds, quick, methods, as_json)
    else:
        raise InputError(f"unknown table {name!r}; there are {', '.join([*TABLES, *studies])}")


def _study(
    study: Study, kept: Path, files: list[Path], seeds: int, quick: bool, methods: str | None, as_json: bool
) -> None:
    from kinfolk.experiments.resume import Data, Results
    from kinfolk.experiments.task_cells import Scored

    given: Mapping[str, Data] = {path.stem: Data.of(options.read(path, None, None, None)) for path in files}
    say = partial(typer.echo, err=True)
    asked = None if methods is None else [name.strip() for name in methods.split(",")]
    found = study.run(Results(kept, Scored), range(seeds), given, quick, say, asked)
    if as_json:
        typer.echo(json.dumps([asdict(row) for _, row in found]))
        return
    for grid in study.grids(found):
        options.console().print(_grid(study.title, grid))


def _grid(title: str, grid: Grid) -> Table:
    table = Table(title=f"{title}: {grid.data}", title_justify="left")
    for number, column in enumerate(grid.head):
        width = max(len(row[number].strip("*")) for row in grid.rows)  # a head may wrap, a number may not
        table.add_column(column, justify="right" if number else "left", min_width=width)
    for number, row in enumerate(grid.rows, start=1):
        texts = [f"[bold]{text.strip('*')}[/]" if text.startswith("**") else text for text in row]
        table.add_row(*texts, end_section=number in grid.rules)
    return table


def _noise(name: str, files: list[Path], part: str | None, seeds: int, as_json: bool) -> None:
    from kinfolk.experiments.tables import TABLES, generated_table, given_table

    if files:
        sets = [(path.stem, options.read(path, part, None, None)) for path in files]
        measured = [given_table(stem, fs, paper) for paper in TABLES[name] for stem, fs in sets]
    else:
        measured = [generated_table(paper, range(seeds)) for paper in TABLES[name]]
    if as_json:
        facts = [
            dict(
                data=t.data,
                beside=t.paper_data,
                mean=[row._asdict() for row in t.mean()],
                spread=[row._asdict() for row in t.spread()],
                paper=[row._asdict() for row in t.paper],
            )
            for t in measured
        ]
        typer.echo(json.dumps(facts))
        return
    for table in measured:
        options.console().print(_noise_table(table))


def _noise_table(measured: NoiseTable) -> Table:
    seeds = f", mean ± spread of {len(measured.runs)} seeds" if len(measured.runs) > 1 else ""
    table = Table(title=f"{measured.data} beside the paper's {measured.paper_data}{seeds}", title_justify="left")
    for column in ("k", "ENR", "paper", "AUC one test", "paper", "AUC many tests", "paper", "difference", "paper"):
        table.add_column(column, justify="right")
    for mean, spread, paper in zip(measured.mean(), measured.spread(), measured.paper, strict=False):
        several = len(measured.runs) > 1
        gain, paper_gain = mean.auc_m - mean.auc_s, paper.auc_m - paper.auc_s
        table.add_row(
            str(mean.k),
            f"{mean.enr:.3f}" + (f" ± {spread.enr:.3f}" if several else ""),
            f"{paper.enr:.2f}",
            f"{mean.auc_s:.2f}" + (f" ± {spread.auc_s:.2f}" if several else ""),
            f"{paper.auc_s:.2f}",
            f"{mean.auc_m:.2f}" + (f" ± {spread.auc_m:.2f}" if several else ""),
            f"{paper.auc_m:.2f}",
            f"[{'green' if gain > 0 else 'red'}]{gain:+.2f}[/]",
            f"{paper_gain:+.2f}",
        )
    return table
