"""kinfolk theory: how many tests are needed, by the bound, by exact counting, and by simulation."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kinfolk._core.progress import stage
from kinfolk.cli import options

COUNTS = (5, 8, 12, 20, 30, 50, 80, 120, 200, 300)


def theory(
    p: Annotated[
        float, typer.Option(help="Chance that a test passes within a class.", callback=options.number(0, 1))
    ] = 0.8,
    q: Annotated[
        float, typer.Option(help="Chance that it passes between classes.", callback=options.number(0, 1))
    ] = 0.2,
    alpha: Annotated[
        float,
        typer.Option(
            help="Share of the common candidates that are of the node's class.", callback=options.number(0, 1)
        ),
    ] = 0.8,
    gamma: Annotated[
        float, typer.Option(help="How many times fewer error edges are wanted.", callback=options.number(1))
    ] = 2.0,
    data: Annotated[
        Path | None, typer.Option(help="Labelled features: p, q and alpha are estimated on their graph.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="Neighbours of that graph.", callback=options.whole())] = 20,
    part: options.Part = None,
    plot: Annotated[Path | None, typer.Option(help="Draw error edges over the number of tests into this file.")] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare one test with many: error edges of a node over the number of tests m.

    [bold]Example:[/bold]  kinfolk theory --p 0.8 --q 0.2 --alpha 0.8 --plot tests.png
    """
    from kinfolk._core.errors import InputError

    options.figure(plot, force, inputs=[data])
    options.exists(data)
    with stage("loading"):
        from kinfolk.neighbors import knn_graph
        from kinfolk.theory import (
            chernoff_errors,
            estimate,
            min_tests,
            multiple_test_errors,
            simulate,
            single_test_errors,
        )

        if plot is not None:
            from kinfolk.report.figures import errors_over_tests, save_figure  # before the work: it needs an extra
    estimated = None
    if data is not None:
        features = options.read(data, part, None, None)
        if features.labels is None:
            raise InputError(f"{data} has no labels: p, q and alpha are estimated on labelled edges")
        options.fewer_than_rows(k, len(features))
        estimated = estimate(knn_graph(features, k), features.labels)
        p, q, alpha = estimated.p, estimated.q, estimated.alpha
        if not estimated.holds:
            raise InputError(f"at k={k} alpha is {alpha:.2f}: the theory needs more than 1/2; choose a smaller k")
    min_tests(p, q, alpha, gamma)  # refuses what has no answer, before the simulation
    rows = []
    for m in COUNTS:
        drawn = simulate(p, q, alpha, m, nodes=400, seed=seed)[1]
        one, many, bound = (f(p, q, alpha, m) for f in (single_test_errors, multiple_test_errors, chernoff_errors))
        rows.append(dict(m=m, one_test=sum(one), bound=sum(bound), exact=sum(many), drawn=sum(drawn)))
    needed = min_tests(p, q, alpha, gamma), min_tests(p, q, alpha, gamma, exact=True)
    if plot is not None:
        with stage("drawing"):
            save_figure(errors_over_tests(rows, needed[1]), plot, force)
    if as_json:
        facts = dict(p=p, q=q, alpha=alpha, gamma=gamma, needed_bound=needed[0], needed_exact=needed[1], rows=rows)
        facts |= {} if estimated is None else dict(estimate=asdict(estimated), **options.taken_columns())
        options.say(json.dumps(facts))
        return
    screen = options.console()
    if estimated is not None:
        screen.print(str(estimated))
    table = Table(title=f"Error edges a node, p={p:.3f}, q={q:.3f}, alpha={alpha:.3f}", title_justify="left")
    for column in ("tests m", "one test", "many: Chernoff bound", "many: exact", "many: drawn"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(str(row["m"]), *(f"{row[name]:.3f}" for name in ("one_test", "bound", "exact", "drawn")))
    screen.print(table)
    screen.print("Noisy and missing edges of a node together; drawn: counted over 400 nodes with random tests.")
    screen.print(
        f"To have both kinds {gamma:g} times fewer than with one test takes {needed[0]} tests by Theorem 1, and "
        f"{needed[1]} by exact counting."
    )
    if plot is not None:
        screen.print(f"Plot: {options.plain(plot)}", soft_wrap=True)
