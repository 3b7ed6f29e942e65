"""kinfolk reproduce: the paper's tables, measured here, beside the paper's numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from kinfolk.cli import options
from kinfolk.errors import InputError

if TYPE_CHECKING:
    from kinfolk.experiments.tables import NoiseTable


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="TABLE", help="table1 (edge noise on faces) or table5 (persons, vehicles).")
    ],
    data: Annotated[list[Path] | None, typer.Option(help="Labelled features to use instead of generated ones.")] = None,
    part: options.Part = None,
    seeds: Annotated[int, typer.Option(help="Seeds of the generated data.")] = 3,
    as_json: options.Json = False,
) -> None:
    """Measure a table of the paper: edge noise rate and AUC of one test and of many, over k.

    Without --data the generated regimes are used, and said to be.

    [bold]Example:[/bold]  kinfolk reproduce table1 --data ms-celeb/features/part1_test.bin
    """
    from kinfolk.experiments.tables import TABLES, generated_table, given_table

    if name not in TABLES:
        raise InputError(f"unknown table {name!r}; there are {', '.join(TABLES)}")
    if seeds < 1:
        raise InputError(f"at least one seed is needed, not {seeds}")
    if data:
        sets = [(path.stem, options.read(path, part, None, None)) for path in data]
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
        options.console().print(_table(table))


def _table(measured: NoiseTable) -> Table:
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
