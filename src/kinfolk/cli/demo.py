"""kinfolk demo: the main job from data to report, without arguments and without a network."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from kinfolk.cli import options

if TYPE_CHECKING:
    from kinfolk.experiments.edge_study import EdgeStudy


def demo(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the report; a new one unless told.")
    ] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """See the main job run on data that is already here: neighbours, one test against many, a report.

    [bold]Example:[/bold]  kinfolk demo
    """
    from kinfolk.files import refuse_existing
    from kinfolk.report import write_page
    from kinfolk.report.edge_study import edge_study_page

    report = (out or _new_folder()) / "report.html"
    refuse_existing(report, force)
    screen = options.console()
    with options.timed() as took:
        studies = []
        for study in _studies(seed):
            studies.append(study)
            if not as_json:
                screen.print(f"\n[bold]{study.name}[/bold]  {study.features!r}\n[dim]{study.origin}[/dim]")
                screen.print(_table(study))
        write_page(edge_study_page(studies), report, force)
    if as_json:
        results = [dict(data=s.name, origin=s.origin, rows=[row._asdict() for row in s.over_k]) for s in studies]
        typer.echo(json.dumps(dict(report=str(report), **took, results=results)))
    else:
        screen.print(f"\nReport: [bold]{report.resolve()}[/bold]  ({took['seconds']:.0f} s)", soft_wrap=True)


def _new_folder() -> Path:
    names = itertools.chain(["kinfolk-demo"], (f"kinfolk-demo-{i}" for i in itertools.count(2)))
    return next(Path(name) for name in names if not Path(name).exists())


def _studies(seed: int) -> Iterator[EdgeStudy]:
    from kinfolk import datasets
    from kinfolk.experiments.edge_study import edge_study

    yield edge_study(
        "digits",
        "real data: the handwritten digits of scikit-learn, as raw pixels",
        datasets.digits(),
        ks=(5, 10, 20, 40, 80, 160),
        k=40,
    )
    yield edge_study(
        "celeb_like",
        "generated data: its graph behaves like that of MS-Celeb part 1",
        datasets.celeb_like(300, seed=seed),
        ks=(5, 10, 20, 40, 80, 120, 160),
        k=40,
    )


def _table(study: EdgeStudy) -> Table:
    title = "Can an edge between two classes be told from a true one?"
    table = Table(title=title, title_justify="left", caption_justify="left", caption=study.sentence)
    for column in ("k", "noisy edges", "AUC one test (Sim-S)", "AUC many tests (Sim-M)", "difference"):
        table.add_column(column, justify="right")
    for row in study.over_k:
        gain = row.auc_m - row.auc_s
        shown = f"[{'green' if gain > 0 else 'red'}]{gain:+.2f}[/]"
        table.add_row(str(row.k), f"{row.enr:.1%}", f"{row.auc_s:.2f}", f"{row.auc_m:.2f}", shown)
    return table
