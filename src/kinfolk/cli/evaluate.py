"""kinfolk evaluate: scores of clusters, features, rankings and neighbour graphs, with intervals on request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from kinfolk._core.errors import InputError
from kinfolk._core.progress import stage
from kinfolk.cli import options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kinfolk.features import FeatureSet
    from kinfolk.metrics import Difference, FeatureScores, IdentityScores, SizeBucket

TITLES = dict(
    clusters="Clusters",
    ranking="Ranking",
    reid="Re-identification, by cosine",
    features="Retrieval among all rows, by cosine",
    graph="Graph",
)
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
    ranking: Annotated[Path | None, typer.Option(help="Score this ranking: what kinfolk rerank wrote.")] = None,
    gallery: Annotated[
        Path | None, typer.Option(help="Second file, the gallery: then all rows of INPUT are queries.")
    ] = None,
    retrieval: Annotated[
        bool,
        typer.Option(
            "--retrieval",
            help="Score the features too, where other things are scored; with queries also among all rows.",
        ),
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(help="Other clusters, another ranking, or with neither other features: is the difference real?"),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            help="Resamples of the identities for 95% intervals, such as 1000; 0: none.", callback=options.whole(0)
        ),
    ] = 0,
    n_queries: Annotated[
        str | None, typer.Option(help="Features: so many queries, drawn with --seed, or all; 20,000 if there are more.")
    ] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Score clusters, features, a ranking or a graph against the true labels.

    Features that mark queries are scored by the re-ID protocol, others by every row against all others.

    [bold]Example:[/bold]  kinfolk evaluate photos.npz --clusters clusters.csv --bootstrap 1000
    """
    options.exists(source, clusters, graph, ranking, gallery, against, labels)
    draw: int | Literal["auto"] | None = (
        "auto" if n_queries is None else options.number_or_all("--n-queries", n_queries)
    )
    with stage("loading"):
        from kinfolk.formats.clusters import read_clusters
        from kinfolk.metrics import by_class_size, clustering_scores

    truth, names, features = _read_truth(source, part, labels, dim)
    known = None if gallery is None else options.read(gallery, part, None, dim)
    of_features = retrieval or (clusters is None and ranking is None and (graph is None or against is not None))
    if known is not None and not of_features and ranking is None:
        raise InputError("--gallery is for --ranking and for the scores of features")
    if (of_features or ranking is not None) and features is None:
        raise InputError(f"{source} holds labels alone: name the clusters to score with --clusters")
    results: dict[str, IdentityScores] = {}
    others: dict[str, IdentityScores] = {}
    about: dict[str, str] = {}
    buckets: tuple[SizeBucket, ...] = ()
    with options.timed() as took:
        if clusters is not None:
            predicted = read_clusters(clusters, len(truth), names)
            results["clusters"] = clustering_scores(truth, predicted)
            buckets = by_class_size(truth, predicted)
            if against is not None:
                others["clusters"] = clustering_scores(truth, read_clusters(against, len(truth), names))
        if ranking is not None and features is not None:
            query, items = options.sides(features, known, source, part, how="with --gallery")
            results["ranking"], about["ranking"] = _ranking(ranking, query, items)
            if against is not None and clusters is None:
                others["ranking"] = _ranking(against, query, items)[0]
        if of_features and features is not None:
            compared = against if clusters is None and ranking is None else None
            other = None if compared is None else _other_features(compared, features, part, labels, dim)
            for kind in _protocols(features, known, retrieval, source, part):
                found = _features(kind, features, known, draw, seed)
                results[kind], about[kind] = found.scores, str(found)
                if other is not None:
                    others[kind] = _features(kind, other, known, draw, seed).scores
        if graph is not None:
            results["graph"] = _graph(graph, truth)
        scores = {kind: _with_intervals(result, bootstrap, seed) for kind, result in results.items()}
        differences = [d for kind, other in others.items() for d in _differences(results[kind], other, bootstrap, seed)]
    read = str(source) if features is None else options.rows_used(features, source)
    if as_json:
        facts = dict(set=str(source), read=read, items=len(truth), resamples=bootstrap, about=about, scores=scores)
        facts |= dict(by_class_size=_size_facts(buckets), differences=_difference_facts(differences))
        options.print_facts(facts | took, as_json=True)
        return
    options.say(f"{read}: {len(truth):,} rows" + ("" if gallery is None else f"; gallery {gallery}"))
    _print(scores, about, buckets, bootstrap)
    for difference in differences:
        options.say(difference)
    options.print_facts(took, as_json=False)


def _size_facts(buckets: tuple[SizeBucket, ...]) -> list[dict[str, Any]]:
    return [dict(each._asdict(), pairwise=each.pairwise._asdict(), bcubed=each.bcubed._asdict()) for each in buckets]


def _difference_facts(differences: list[Difference]) -> list[dict[str, Any]]:
    return [dict(each._asdict(), real=each.real, sentence=str(each)) for each in differences]


def _ranking(file: Path, query: FeatureSet, gallery: FeatureSet) -> tuple[IdentityScores, str]:
    """Return the scores of a ranking on disk, and what it holds; those of cut lists are called so."""
    from kinfolk.metrics import reid_scores
    from kinfolk.rerank.ranking_file import read_ranking

    if query.labels is None or gallery.labels is None:
        raise InputError("a ranking is scored against labels: the queries or the gallery have none")
    lists = read_ranking(file, query, gallery)
    scores = reid_scores(lists, query.labels, gallery.labels, query.cameras, gallery.cameras)
    length, whole = lists.shape[1], len(gallery)
    about = f"{file}: {len(lists):,} queries against a gallery of {whole:,} rows"
    if length == whole and (lists >= 0).all():
        return scores, about
    names = tuple(f"{name}_of_the_first_{length}" for name in scores.names)
    return replace(scores, names=names), f"{about}, of which {length:,} are listed: the others count as not found"


def _protocols(
    features: FeatureSet, gallery: FeatureSet | None, among_all: bool, source: Path, part: str | None
) -> list[Literal["reid", "features"]]:
    """Return how features are scored: by the queries of the set where it has some, else among all rows."""
    from kinfolk.metrics.feature_scores import marks_queries

    if gallery is None and not marks_queries(features):
        return ["features"]
    options.check_one_part(features, source, part)
    return ["reid", "features"] if among_all else ["reid"]


def _features(
    kind: Literal["reid", "features"],
    features: FeatureSet,
    gallery: FeatureSet | None,
    n_queries: int | Literal["auto"] | None,
    seed: int,
) -> FeatureScores:
    from kinfolk.metrics import feature_scores

    protocol: Literal["reid", "retrieval"] = "reid" if kind == "reid" else "retrieval"
    known = gallery if kind == "reid" else None
    return feature_scores(features, known, protocol=protocol, n_queries=n_queries, seed=seed, show_progress=True)


def _other_features(
    file: Path, features: FeatureSet, part: str | None, labels: Path | None, dim: int | None
) -> FeatureSet:
    """Return the same rows with the features of another file."""
    other = options.read(file, part, labels, dim)
    if len(other) != len(features):
        raise InputError(f"{file} has {len(other):,} rows, but there are {len(features):,} to compare with")
    return replace(features, features=other.features)


def _graph(file: Path, truth: NDArray[np.int64]) -> IdentityScores:
    from kinfolk.metrics import edge_noise_rate, graph_scores
    from kinfolk.neighbors import NeighborGraph

    g = NeighborGraph.load(file)
    both_kinds = 0 < edge_noise_rate(g, truth) < 1  # else there is no AUC
    return graph_scores(g, truth, g.similarities if both_kinds else None)


def _read_truth(
    source: Path, part: str | None, labels: Path | None, dim: int | None
) -> tuple[NDArray[np.int64], NDArray[np.str_] | None, FeatureSet | None]:
    """Return the true labels, and names and features where the input has them."""
    if source.suffix.lower() in LABEL_FILES or _is_label_array(source):
        from kinfolk.formats._labels import read_labels

        truth = read_labels(source)[0]
        return truth, options.given_names(len(truth)), None
    features = options.read(source, part, labels, dim)
    if features.labels is None:
        raise InputError(f"{source} has no labels to score against: give them with --labels")
    return features.labels, features.names, features


def _is_label_array(source: Path) -> bool:
    from kinfolk.formats._arrays import read_header

    if source.suffix.lower() != ".npy" or not source.is_file():
        return False
    try:
        with source.open("rb") as stream:
            return len(read_header(stream, source.stat().st_size, "labels").shape) == 1
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


def _spelled(name: str) -> str:
    """Return the name of a score as people know it.

    >>> _spelled("map_of_the_first_100"), _spelled("cmc_5"), _spelled("bcubed_f")
    ('mAP of the first 100', 'CMC 5', 'BCubed F')
    """
    return " ".join(SPELLED.get(word, word) for word in name.split("_"))


def _print(
    scores: dict[str, dict[str, Any]], about: dict[str, str], buckets: tuple[SizeBucket, ...], resamples: int
) -> None:
    screen = options.console()
    for kind, found in scores.items():
        details = f": {escape(about[kind])}" if kind in about else ""
        screen.print(f"[italic]{TITLES[kind]} (x 100)[/]{details}", soft_wrap=True)
        table = Table()
        table.add_column("score")
        table.add_column("value", justify="right")
        if resamples:
            table.add_column("95% interval over identities", justify="right")
        for name, facts in found.items():
            short = name.replace("cmc_", "R") if kind in ("reid", "ranking") else name
            cells = [_spelled(short), f"{100 * facts['value']:.2f}"]
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
