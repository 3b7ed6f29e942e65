"""kinfolk cluster: which rows of a feature file belong together."""

from __future__ import annotations

import inspect
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from rich.table import Table

from kinfolk._core.errors import InputError
from kinfolk._core.memory import peak_memory_gib
from kinfolk._core.progress import stage
from kinfolk.cli import options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kinfolk.cluster import Clusterer
    from kinfolk.features import FeatureSet

# the name on the command line -> the class in kf.cluster
METHODS = {
    "kin": "Kin",
    "gcut": "GCut",
    "hac": "HAC",
    "chinese-whispers": "ChineseWhispers",
    "finch": "Finch",
    "kmeans": "KMeans",
    "dbscan": "DBSCAN",
    "hdbscan": "HDBSCAN",
    "leiden": "Leiden",
    "infomap": "Infomap",
    "ada-nets": "AdaNets",
    "star-fc": "StarFC",
    "clusformer": "Clusformer",
}
LONGEST_HEADER = 200  # characters: that of clusters has fewer
LEARNED = ("ada-nets", "star-fc", "clusformer")


def cluster(
    source: options.Input,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="clusters.csv (id,cluster,confidence,second,is_medoid), or .npy in row order."
        ),
    ],
    method: Annotated[str, typer.Option("--method", "-m", help=", ".join(METHODS) + ".")] = "kin",
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="Neighbours of each row, for methods on a graph.", callback=options.whole()),
    ] = None,
    threshold: Annotated[str | None, typer.Option(help="Similarity to cut at: a number or auto.")] = None,
    n_clusters: Annotated[
        int | None, typer.Option(help="How many clusters, for kmeans and hac.", callback=options.whole())
    ] = None,
    max_size: Annotated[
        int | None, typer.Option(help="No cluster gets larger than this.", callback=options.whole())
    ] = None,
    probability: Annotated[
        float | None,
        typer.Option(help="For kin: finer clusters above 0.5, coarser ones below it; 0 to 1. Without confidence."),
    ] = None,
    must_link: Annotated[
        Path | None, typer.Option(help="For kin: .csv or .tsv, two ids a line, of rows that are in one cluster.")
    ] = None,
    cannot_link: Annotated[
        Path | None, typer.Option(help="For kin: .csv or .tsv, two ids a line, of rows that are in different clusters.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting of the method, such as guard=1.0.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help=f"For kin: folder that kinfolk train wrote. For {', '.join(LEARNED)}: that --save-model wrote."
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Learn from this labelled feature file; INPUT itself with --train-part alone.")
    ] = None,
    train_part: Annotated[str | None, typer.Option(help="Learn from this part only, such as train.")] = None,
    save_model: Annotated[Path | None, typer.Option(help="Keep what was learned in this folder.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Use this graph of the rows: what kinfolk knn wrote.")] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    safe_cells: options.SafeCells = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Cluster the rows, write the clusters, and report their number and sizes.

    ada-nets, star-fc and clusformer learn from labelled identities first (--train, --train-part), or use what was
    learned before (--model).

    [bold]Example:[/bold]  kinfolk cluster photos.npz -o clusters.csv

    What you know about pairs of rows is honoured, here with finer clusters than by default:

    [bold]Example:[/bold]  kinfolk cluster photos.npz --must-link same.csv --probability 0.8 -o finer.csv
    """
    from kinfolk._core.files import existing_folder

    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if out.suffix not in (".csv", ".npy"):
        raise InputError(f"{out}: clusters are written as .csv or .npy")
    options.output(out, force, inputs=[source, model, train, graph, labels, must_link, cannot_link])
    learning = train is not None or train_part is not None
    _check_learned(method, model, learning, save_model)
    _check_kin(method, probability, must_link, cannot_link)
    if model is not None:
        existing_folder(model, "a model folder")
    options.output(save_model, force, "model", inputs=[source, train, graph, labels])
    given = _given(
        dict(k=k, threshold=threshold, n_clusters=n_clusters, max_size=max_size), settings or [], method, model
    )
    options.exists(source, train, labels, graph, must_link, cannot_link)
    _refuse_clusters(source)
    with stage("loading"):
        clusterer = _clusterer(method, given, seed) if model is None else _with_model(method, model, given, seed)
        clusterer._check_settings()
    features = options.read(source, part, labels, dim)
    known = options.read(train or source, train_part, labels if train is None else None, dim) if learning else None
    if known is not None and known.labels is None:
        raise InputError(f"{train or source} has no labels to learn from")
    options.fewer_than_rows(k, len(features))
    from kinfolk.cluster._internal.medoids import medoids
    from kinfolk.formats.clusters import write_clusters
    from kinfolk.metrics import bcubed, pairwise
    from kinfolk.neighbors import NeighborGraph

    neighbors = None if graph is None else NeighborGraph.load(graph)
    if neighbors is not None and len(neighbors) != len(features):
        raise InputError(f"{graph} has {len(neighbors)} rows, {source} has {len(features)}: they must be the same rows")
    _set_pairs(clusterer, features, must_link=must_link, cannot_link=cannot_link)
    with options.timed() as took, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if known is not None:
            clusterer.fit(known, known.labels)
        found = clusterer.fit_predict(features if neighbors is None else neighbors)
    found, sure, second = _cut(clusterer, found, probability)
    with stage("writing"):
        write_clusters(out, found, features.names, sure, medoids(found, features), force, safe_cells, second)
    if save_model is not None:
        clusterer.save(save_model, force)
    facts: dict[str, Any] = dict(set=repr(features), method=method, **_chosen(clusterer))
    facts |= _facts(found, features) | dict(ids=_ids(features, part))
    if features.labels is not None and (features.labels >= 0).any():
        facts["pairwise_f"] = options.Score(pairwise(features.labels, found).f)
        facts["bcubed_f"] = options.Score(bcubed(features.labels, found).f)
    facts |= dict(written=str(out), **took, peak_memory_gib=peak_memory_gib())
    _print_facts(facts, as_json)
    options.say_notes(caught)


def _given(named: dict[str, Any], settings: list[str], method: str, model: Path | None) -> dict[str, Any]:
    """Return the settings of both kinds of options; each may be given once."""
    given = {name: value for name, value in named.items() if value is not None}
    pairs = _pairs(settings)
    if twice := sorted(given.keys() & pairs.keys()):
        raise InputError(f"{twice[0]} is given twice: by --{twice[0].replace('_', '-')} and by --set")
    if model is not None and "enhancer" in pairs:
        raise InputError("enhancer is given twice: by --model and by --set")
    if method == "kmeans" and "n_clusters" not in given | pairs:
        raise InputError("kmeans does not find out how many clusters there are: give --n-clusters")
    return given | pairs


def _ids(features: FeatureSet, part: str | None) -> str:
    """Say what the column id of clusters.csv holds."""
    if features.names is not None:
        return "names"
    return f"rows{f' of part {part}' if part in features.part_names else ''}, counted from 0"


def _pairs(settings: list[str]) -> dict[str, str]:
    for setting in settings:
        if not setting.partition("=")[2]:
            raise InputError(f"a setting is written name=value, such as guard=1.0, not {setting!r}")
    return {name: value for name, _, value in (setting.partition("=") for setting in settings)}


def _refuse_clusters(source: Path) -> None:
    """Refuse what this command wrote itself, which would be read as features of one or two dimensions."""
    if source.suffix.lower() == ".csv" and source.is_file():
        with source.open(encoding="utf-8-sig", errors="replace") as sheet:
            header = sheet.readline(LONGEST_HEADER).strip().split(",")
        if header[0] in ("id", "name", "row") and header[1:2] == ["cluster"]:
            raise InputError(f"{source} holds clusters, as kinfolk cluster writes them: give the features themselves")


def _clusterer(method: str, given: dict[str, Any], seed: int) -> Clusterer:
    import kinfolk.cluster as clusterers

    kind = getattr(clusterers, METHODS[method])
    known = inspect.signature(kind).parameters
    for name in given:
        if name not in known:
            raise InputError(f"{method} has no setting {name!r}; it has {', '.join(known)}")
    if "random_state" in known:
        given = dict(random_state=seed) | given
    hints = get_type_hints(kind.__init__, localns=dict(GraphEnhancer=Any))  # not imported here: it takes seconds
    return kind(**{name: _value(name, value, hints[name]) for name, value in given.items()})


def _chosen(clusterer: Clusterer) -> dict[str, Any]:
    """Return the settings that the method chose, for these rows or in training."""
    chosen: dict[str, Any] = {}
    if hasattr(clusterer, "threshold_"):
        chosen["threshold"] = round(clusterer.threshold_, 4)
    if hasattr(clusterer, "k_"):
        chosen["k"] = clusterer.k_
    return chosen | getattr(clusterer, "settings_", {})


def _check_learned(method: str, model: Path | None, learning: bool, save_model: Path | None) -> None:
    if method not in LEARNED:
        if learning or save_model is not None:
            raise InputError(f"{method} learns nothing here: --train and --save-model are for {', '.join(LEARNED)}")
        if model is not None and method != "kin":
            raise InputError(
                f"--model is for kin and {', '.join(LEARNED)}: give {method} the features that kinfolk enhance wrote"
            )
    elif (model is None) != learning:
        how = "give either --model or --train, not both" if learning else "give --train, --train-part or --model"
        raise InputError(f"{method} needs labelled identities to learn from, or a model: {how}")
    elif save_model is not None and not learning:
        raise InputError("--save-model keeps what was learned by this call: it needs --train or --train-part")


def _check_kin(method: str, probability: float | None, must_link: Path | None, cannot_link: Path | None) -> None:
    given = {"--probability": probability, "--must-link": must_link, "--cannot-link": cannot_link}
    if method != "kin" and (wrong := [option for option, value in given.items() if value is not None]):
        raise InputError(f"{wrong[0]} is for kin: {method} has no such choice")
    if probability is not None and not 0 <= probability <= 1:
        raise InputError(f"--probability must be a number from 0 to 1, not {probability}")


def _set_pairs(clusterer: Clusterer, features: FeatureSet, **files: Path | None) -> None:
    from kinfolk.formats._pairs import read_pairs

    for name, file in files.items():
        if file is not None:
            clusterer.set_params(**{name: read_pairs(file, len(features), features.names)})


def _cut(clusterer: Any, labels: NDArray[np.int64], probability: float | None) -> tuple[NDArray[np.int64], Any, Any]:
    """Return the clusters asked for, and how sure each row is and its second choice, which some methods know.

    These belong to the clusters that were found: finer and coarser ones have none.
    """
    if probability is not None:
        return clusterer.cut(probability), None, None
    return labels, getattr(clusterer, "probabilities_", None), getattr(clusterer, "second_", None)


def _with_model(method: str, model: Path, given: dict[str, Any], seed: int) -> Clusterer:
    import kinfolk.cluster as clusterers

    if method == "kin":
        from kinfolk.enhance import GraphEnhancer

        return _clusterer(method, given | dict(enhancer=GraphEnhancer.load(model)), seed)
    if fixed := sorted(given.keys() - {"max_size"}):
        raise InputError(f"{fixed[0]} was chosen when {model} was learned: only --max-size can be given with --model")
    return getattr(clusterers, METHODS[method]).load(model).set_params(**given)


def _value(name: str, text: Any, hint: Any) -> Any:
    """Return a setting converted to its declared type; none is None."""
    import pydantic

    if not isinstance(text, str):
        return text
    try:
        adapter = pydantic.TypeAdapter(hint, config=pydantic.ConfigDict(arbitrary_types_allowed=True))
        return adapter.validate_python(None if text == "none" else text)
    except pydantic.ValidationError:
        raise InputError(f"{name} must be {_spelled(hint)}, not {text!r}") from None


def _spelled(hint: Any) -> str:
    """Return the kind of a setting in words.

    >>> _spelled(float | None), _spelled(Literal["cosine", "sim_m"])
    ('a number or none', "'cosine' or 'sim_m'")
    """
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    words = {int: "a whole number", float: "a number", type(None): "none"}
    return " or ".join(map(_spelled, get_args(hint))) or words.get(hint, getattr(hint, "__name__", "another"))


def _facts(labels: NDArray[np.int64], features: FeatureSet) -> dict[str, Any]:
    from kinfolk.cluster import summary

    found = summary(labels, features)
    return dict(
        rows=found.rows,
        clusters=found.clusters,
        singletons=found.singletons,
        noise=found.noise,
        largest=int(found.sizes[0]) if found.clusters else 0,
        largest_share=options.Share(found.largest_share),
        tightness=None if found.tightness is None else round(found.tightness, 4),
    )


def _print_facts(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        options.say(json.dumps(facts | options.taken_columns()))
        return
    table = Table(show_header=False, title="Clusters", title_justify="left")
    for name, value in facts.items():
        words, text = options.spelled(name, value)
        table.add_row(words, f"{value:,}" if isinstance(value, int) else options.plain(text))
    options.console().print(table)
