"""kinfolk evaluate: scores of clusters, of features and of a neighbour graph, with intervals on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from kinfolk._core.errors import InputError
from kinfolk._core.progress import stage
from kinfolk.cli import options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kinfolk.features import FeatureSet
    from kinfolk.metrics import Difference, IdentityScores, SizeBucket

LABEL_FILES = (".txt", ".meta")  # files of labels alone, in no feature format
SPELLED = {"map": "mAP", "minp": "mINP", "r": "R", "f": "F", "bcubed": "BCubed"} | {
    word: word.upper() for word in ("nmi", "ari", "auc", "cmc", "tpr", "fpr")
}


def evaluate(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Labelled feature file or folder, or a file of true labels alone.")
    ],
    clusters: Annotated[
        Path | None,
        typer.Option("--clusters", "--labels-from", "-c", help="Score these clusters: what kinfolk cluster wrote."),
    ] = None,
    graph: Annotated[Path | None, typer.Option(help="Score the edges of this graph: what kinfolk knn wrote.")] = None,
    retrieval: Annotated[
        bool, typer.Option("--retrieval", help="Score the features; the default without --clusters and --graph.")
    ] = False,
    against: Annotated[
        Path | None, typer.Option(help="Other clusters, or without --clusters other features: is the difference real?")
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            help="Resamples of the identities for 95% intervals, such as 1000; 0: none.", callback=options.whole(0)
        ),
    ] = 0,
    n_queries: Annotated[
        int | None,
        typer.Option(help="Retrieval: only so many queries, drawn with --seed.", callback=options.whole()),
    ] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Score clusters, features or a graph against the true labels.

    [bold]Example:[/bold]  kinfolk evaluate photos.npz --clusters clusters.csv --bootstrap 1000
    """
    options.exists(source, clusters, graph, against, labels)
    with stage("loading"):
        from kinfolk.formats.clusters import read_clusters
        from kinfolk.metrics import by_class_size, clustering_scores, edge_noise_rate, graph_scores, retrieval_scores
        from kinfolk.neighbors import NeighborGraph

    truth, names, features = _read_truth(source, part, labels, dim)
    query_options: Any = dict(n_queries=n_queries, seed=seed, show_progress=True)
    results: dict[str, IdentityScores] = {}
    others: dict[str, IdentityScores] = {}
    buckets: tuple[SizeBucket, ...] = ()
    with options.timed() as took:
        if clusters is not None:
            predicted = read_clusters(clusters, len(truth), names)
            results["clusters"] = clustering_scores(truth, predicted)
            buckets = by_class_size(truth, predicted)
            if against is not None:
                others["clusters"] = clustering_scores(truth, read_clusters(against, len(truth), names))
        if retrieval or (clusters is None and (graph is None or against is not None)):
            if features is None:
                raise InputError(f"{source} holds labels alone: name the clusters to score with --clusters")
            results["features"] = retrieval_scores(features, truth, **query_options)
            if against is not None and clusters is None:
                others["features"] = retrieval_scores(options.read(against, part, labels, dim), truth, **query_options)
        if graph is not None:
            g = NeighborGraph.load(graph)
            both_kinds = 0 < edge_noise_rate(g, truth) < 1  # else there is no AUC
            results["graph"] = graph_scores(g, truth, g.similarities if both_kinds else None)
        scores = {kind: _with_intervals(result, bootstrap, seed) for kind, result in results.items()}
        differences = [d for kind, other in others.items() for d in _differences(results[kind], other, bootstrap, seed)]
    if as_json:
        facts = dict(set=str(source), items=len(truth), resamples=bootstrap, scores=scores)
        sizes = [
            dict(bucket._asdict(), pairwise=bucket.pairwise._asdict(), bcubed=bucket.bcubed._asdict())
            for bucket in buckets
        ]
        compared = [dict(d._asdict(), real=d.real, sentence=str(d)) for d in differences]
        facts |= dict(by_class_size=sizes, differences=compared, **options.taken_columns(), **took)
        options.say(json.dumps(facts))
        return
    _print(scores, buckets, bootstrap)
    for difference in differences:
        options.say(difference)
    options.print_facts(took, as_json=False)


def _read_truth(
    source: Path, part: str | None, labels: Path | None, dim: int | None
) -> tuple[NDArray[np.int64], NDArray[np.str_] | None, FeatureSet | None]:
    """Return the true labels, and names and features where the input has them."""
    if source.suffix.lower() in LABEL_FILES or _is_label_array(source):
        from kinfolk.formats._labels import read_labels

        return read_labels(source)[0], None, None
    features = options.read(source, part, labels, dim)
    if features.labels is None:
        raise InputError(f"{source} has no labels to score against: give them with --labels")
    return features.labels, features.names, features


def _is_label_array(source: Path) -> bool:
    import numpy as np

    if source.suffix.lower() != ".npy" or not source.is_file():
        return False
    try:
        return np.load(source, mmap_mode="r", allow_pickle=False).ndim == 1
    except (ValueError, OSError, EOFError):
        return False  # the reader of features names the fault


def _with_intervals(result: IdentityScores, resamples: int, seed: int) -> dict[str, dict[str, float]]:
    from kinfolk.metrics import bootstrap

    if not resamples:
        return {name: dict(value=value) for name, value in result.values().items()}
    intervals = bootstrap(result, resamples, seed=seed, show_progress=True)
    return {name: interval._asdict() for name, interval in intervals.items()}


def _differences(result: IdentityScores, other: IdentityScores, resamples: int, seed: int) -> list[Difference]:
    from kinfolk.metrics import compare

    return list(compare(result, other, resamples or 1000, seed=seed, show_progress=True).values())


def _print(scores: dict[str, dict[str, Any]], buckets: tuple[SizeBucket, ...], resamples: int) -> None:
    screen = options.console()
    for kind, found in scores.items():
        table = Table(title=f"{kind.capitalize()} (x 100)", title_justify="left")
        table.add_column("score")
        table.add_column("value", justify="right")
        if resamples:
            table.add_column("95% interval over identities", justify="right")
        for name, facts in found.items():
            cells = [" ".join(SPELLED.get(word, word) for word in name.split("_")), f"{100 * facts['value']:.2f}"]
            if resamples:
                cells.append(f"{100 * facts['low']:.2f} to {100 * facts['high']:.2f}")
            table.add_row(*cells)
        screen.print(table)
    if buckets:
        table = Table(title="By size of the class (F x 100)", title_justify="left")
        for column in ("size", "classes", "items", "Pairwise F", "BCubed F"):
            table.add_column(column, justify="right")
        for bucket in buckets:
            size = f"{bucket.smallest}+" if bucket.largest is None else f"{bucket.smallest} to {bucket.largest}"
            counts = f"{bucket.classes:,}", f"{bucket.items:,}"
            table.add_row(size, *counts, f"{100 * bucket.pairwise.f:.2f}", f"{100 * bucket.bcubed.f:.2f}")
        screen.print(table)
