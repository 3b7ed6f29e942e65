"""kinfolk similarity: Sim-M of every edge, the graph without unlikely edges, and the tests behind a pair."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinfolk._core.errors import InputError
from kinfolk.cli import options

if TYPE_CHECKING:
    from kinfolk.features import FeatureSet
    from kinfolk.neighbors import NeighborGraph


def similarity(
    source: options.Input,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Kept edges, a scipy sparse .npz of Sim-M.")] = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", help="Neighbours of each row; chosen from the data unless given.")
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Sim-M from which on an edge is kept: a number, auto, or theory.")
    ] = "auto",
    explain: Annotated[tuple[int, int] | None, typer.Option(help="Two rows: print the tests behind this pair.")] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Score every edge by many tests and keep those with enough common neighbours.

    [bold]Example:[/bold]  kinfolk similarity market1501.npz --part test --k 20 -o clean.npz
    """
    from scipy import sparse

    from kinfolk._core.files import replacing
    from kinfolk.kinship import choose_k
    from kinfolk.neighbors import knn_graph
    from kinfolk.similarity import explain as explain_pair
    from kinfolk.similarity import prune

    chosen = _parse(threshold)
    if out is not None:
        if out.suffix != ".npz":
            raise InputError(f"{out}: edges are written as .npz (scipy.sparse.load_npz reads them)")
        options.output(out, force, inputs=[source, labels])
    features = options.read(source, part, labels, dim)
    graph = knn_graph(features, k or min(80, len(features) - 1))
    if k is None:
        graph = graph.restrict(choose_k(graph) if graph.k >= 5 else graph.k)
    if explain is not None:
        typer.echo(str(explain_pair(graph, *explain)))
        return
    with options.timed() as took, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cleaner = prune(graph, _labelled(graph, features) if chosen == "theory" else chosen, y=features.labels)
    kept = f"{cleaner.keep.sum():,} of {cleaner.keep.size:,} ({cleaner.keep.mean():.1%})"
    facts: dict[str, Any] = dict(set=repr(features), k=graph.k, threshold=round(cleaner.threshold, 4), edges_kept=kept)
    if cleaner.noise_before is not None and cleaner.noise_after is not None:
        facts |= dict(edge_noise_before=round(cleaner.noise_before, 4), edge_noise_after=round(cleaner.noise_after, 4))
    if out is not None:
        with replacing(out, force) as temporary:
            sparse.save_npz(temporary, cleaner.graph)
        facts["written"] = str(out)
    options.print_facts(facts | took, as_json)
    for warning in caught:
        typer.echo(f"note: {warning.message}", err=True)


def _parse(threshold: str) -> Any:
    """Return a number, "auto" or "theory"."""
    if threshold in ("auto", "theory"):
        return threshold
    try:
        return float(threshold)
    except ValueError:
        raise InputError(f"threshold must be a number, auto or theory, not {threshold!r}") from None


def _labelled(graph: NeighborGraph, features: FeatureSet) -> float:
    """Return the threshold that the theory expects to separate both kinds of edges, by the labels."""
    from kinfolk.theory import labelled_threshold

    if features.labels is None:
        raise InputError("a threshold from theory needs labels: they give the chance of a test within a class")
    return labelled_threshold(graph, features.labels)
