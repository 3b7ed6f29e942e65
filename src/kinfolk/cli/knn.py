"""kinfolk knn: the neighbour graph of a feature file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError
from kinfolk._core.memory import peak_memory_gib
from kinfolk._core.progress import stage
from kinfolk.cli import options


def knn(
    source: options.Input,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="graph.npz, or a name without a suffix for a memory-mapped folder.")
    ],
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="Neighbours of each row; 80, or all if fewer.", callback=options.whole()),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exact or ivf.")] = "auto",
    recall: Annotated[
        float,
        typer.Option(
            help="Share of the true neighbours an approximate search must find.", callback=options.number(0, 1)
        ),
    ] = 0.99,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find the k nearest neighbours of every row by cosine; run it again after an interruption and it continues.

    [bold]Example:[/bold]  kinfolk knn market1501.npz --part test --k 20 -o graph.npz
    """
    with stage("loading"):
        from kinfolk.metrics import edge_noise_rate
        from kinfolk.neighbors import knn_graph
        from kinfolk.neighbors._store import graph_kind
        from kinfolk.neighbors.search import METHODS

    check_choice("--method", method, METHODS)
    if recall == 0:
        raise InputError("--recall must lie above 0: a search that finds nothing is none")
    options.exists(source, labels)
    options.output(out, force, graph_kind(out), inputs=[source, labels])
    features = options.read(source, part, labels, dim)
    k = min(80, len(features) - 1) if k is None else k
    with options.timed() as took:
        graph = knn_graph(features, k, method, recall=recall, out=out, force=force, seed=seed)  # type: ignore[arg-type]
    facts: dict[str, Any] = dict(
        set=repr(features), k=k, method=graph.method, recall=options.Share(graph.recall or 0.0)
    )
    if features.labels is not None:
        facts["edge_noise_rate"] = options.Share(edge_noise_rate(graph, features.labels))
    facts |= dict(written=str(out), **took, peak_memory_gib=peak_memory_gib())
    options.print_facts(facts, as_json)
