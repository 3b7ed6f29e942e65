"""kinfolk reproduce: the paper's tables and figures, measured here, beside the paper's numbers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as ScreenTable

from kinfolk._core.errors import InputError
from kinfolk._core.progress import stage
from kinfolk.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinfolk.experiments.results import Claim, ExperimentResult, Table
    from kinfolk.experiments.resume import Data

GENERATED = "generated"
SCREEN_WIDTH = 150  # characters, if the output is a file: numbers with their spreads beside the paper's
VERDICT_COLORS = {"holds": "green", "does not hold": "red", "undecided": "yellow"}


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="table1 to table11, figure3 to figure8, theorem, closeup, or all.")
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(help="Labelled features with the parts train and test; 'generated': those as well."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="How many seeds, of the training and of generated data.", callback=options.whole())
    ] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="One seed and small generated sets: minutes.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Generated sets of the calibrated size: many hours.")] = False,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="all: also Clusformer, STAR-FC and Ada-NETS of table3 and table10, a minute of training a seed; "
            "or the name of a row, as often as there are rows."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run: finished cells and results.")] = Path(
        "kinfolk-run"
    ),
    as_json: options.Json = False,
) -> None:
    """Measure a table or figure of the paper and print it beside the paper's numbers.

    Without --data generated sets are used, and named as such. Thresholds are tuned on the part train. Finished
    cells are kept in the folder of the run: the same command goes on where it stopped. kinfolk report makes a page.

    [bold]Example:[/bold]  kinfolk reproduce table2 --data market1501.npz --out run
    """
    with stage("loading"):
        from kinfolk.experiments.catalogue import STUDIES, TWINS, experiment_names
        from kinfolk.experiments.catalogue import reproduce as measured
        from kinfolk.experiments.results import RUN_KIND

    names = experiment_names(name)
    if quick and full:
        raise InputError("--quick and --full are two sizes: choose one")
    if methods and not set(names) & set(STUDIES):
        raise InputError(f"{name} has no methods to choose from: leave --methods out")
    if len(names) > 1 and methods and methods != ["all"]:
        raise InputError("methods are chosen for one table at a time; of all tables only --methods all")
    options.output_folder(out, RUN_KIND)
    learns = any(each not in STUDIES or STUDIES[each].learns for each in names)
    sets = _sets(data or [], learns)
    also_generated = GENERATED in (data or [])
    names = [each for each in names if also_generated or not sets or TWINS.get(each) not in names]
    found = []
    for number, each in enumerate(names, start=1):
        if len(names) > 1:
            options.say(f"--- {each}, {number} of {len(names)}", err=True)
        found.append(
            measured(
                each,
                out,
                range(1 if quick else seeds),
                {} if TWINS.get(each) in names and also_generated else sets,
                "quick" if quick else "full" if full else "usual",
                partial(options.say, err=True),
                methods or None,
                also_generated,
            )
        )
    if as_json:
        options.say(json.dumps([each.model_dump(mode="json") for each in found]))
        return
    for one in found:
        _show(one)
    options.say(f"\nKept in {out}; for a page of it: kinfolk report {out}")


def _sets(paths: Sequence[str], learns: bool) -> dict[str, Data]:
    from kinfolk.experiments.generated_sets import GENERATED_SETS
    from kinfolk.experiments.resume import Data

    files = [Path(path).resolve() for path in paths if path != GENERATED]
    options.exists(*files)
    with stage("reading"):
        sets = {file.stem: Data.read(file, learns) for file in files}
    if len(sets) < len(files) or GENERATED_SETS.keys() & sets.keys():
        raise InputError("two sets have the same name: rename a file of --data, a table shows only the name")
    return sets


def _show(found: ExperimentResult) -> None:
    screen = options.console(SCREEN_WIDTH)
    screen.print(
        f"\n[bold]{options.plain(found.title)}[/bold]\n[dim]{options.plain(found.about)}[/dim]", soft_wrap=True
    )
    for table in found.tables:
        screen.print("", _table(table))
    if found.claims:
        screen.print("", _claims(found.claims))


def _table(shown: Table) -> ScreenTable:
    table = ScreenTable(title=options.plain(shown.data), title_justify="left")
    for number, column in enumerate(shown.head):
        width = max(len(row[number].strip("*")) for row in shown.rows)  # a head may wrap, a number may not
        table.add_column(options.plain(column), justify="right" if number else "left", min_width=width)
    for number, row in enumerate(shown.rows, start=1):
        texts = [_bold(options.plain(text)) for text in row]
        table.add_row(*texts, end_section=number in shown.rules)
    return table


def _bold(text: str) -> str:
    return f"[bold]{text.strip('*')}[/]" if text.startswith("**") else text


def _claims(claims: Sequence[Claim]) -> ScreenTable:
    table = ScreenTable(title="Claims of the paper", title_justify="left")
    for column in ("claim", "data", "verdict", "figures"):
        table.add_column(column)
    for claim in claims:
        verdict = f"[{VERDICT_COLORS[claim.verdict]}]{claim.verdict}[/]"
        table.add_row(options.plain(claim.claim), options.plain(claim.data), verdict, options.plain(claim.figures))
    return table
