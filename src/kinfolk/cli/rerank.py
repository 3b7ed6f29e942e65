"""kinfolk rerank: the gallery ordered for each query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinfolk._core.errors import InputError
from kinfolk._core.memory import peak_memory_gib
from kinfolk._core.progress import stage
from kinfolk.cli import options

if TYPE_CHECKING:
    from kinfolk.features import FeatureSet
    from kinfolk.metrics import ReidScorer
    from kinfolk.rerank import Ranking

NAMES = "cosine, qe, lbr, kr, ecn, band, or band+ and one of them"


def rerank(
    source: options.Input,
    out: Annotated[Path, typer.Option("--out", "-o", help="ranking.npz (indices, distances) or .csv.")],
    gallery: Annotated[
        Path | None, typer.Argument(metavar="[GALLERY]", help="Second file; without it INPUT marks its queries.")
    ] = None,
    method: Annotated[str, typer.Option("--method", "-m", help=NAMES + ".")] = "band+kr",
    model: Annotated[Path | None, typer.Option(help="Folder that kinfolk train wrote, for band.")] = None,
    top: Annotated[
        str, typer.Option(help="Rows of the gallery that are written for each query: so many at most, or all.")
    ] = "100",
    preset: Annotated[str | None, typer.Option(help="paper: the settings of the literature.")] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    safe_cells: options.SafeCells = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Order the gallery for each query and, where there are labels, score the order of the whole gallery.

    --top cuts the lists that are written, never the scores.

    [bold]Example:[/bold]  kinfolk rerank market1501.npz --part test --method kr -o ranking.npz
    """
    if out.suffix not in (".npz", ".csv"):
        raise InputError(f"{out}: rankings are written as .npz or .csv")
    kept = options.number_or_all("--top", top)
    if preset not in (None, "paper"):
        raise InputError(f"--preset is paper or left out, not {preset!r}")
    first, _, then = method.partition("+")
    _check_method(method, first, then, model, preset)
    options.exists(source, gallery, model, labels)
    options.output(out, force, inputs=[source, gallery, model, labels])
    query, known, read = _read(source, gallery, part, labels, dim)
    facts: dict[str, Any] = dict(read=read, queries=len(query), gallery=len(known))
    scorer = _scorer(query, known, facts)
    chosen: dict[str, Any] = dict(top=kept) | ({} if preset is None else dict(preset=preset))
    with options.timed() as took:
        found = _rank(query, known, first, then, model, seed, chosen | dict(watch=scorer and scorer.add))
    from kinfolk.rerank.ranking_file import write_ranking

    with stage("writing"):
        write_ranking(out, found, query, known, force, safe_cells)
    facts |= dict(method=method, top=found.indices.shape[1])
    facts |= {name: round(value, 4) for name, value in found.settings.items()}
    facts |= {} if scorer is None else _scores(scorer)
    facts |= dict(written=str(out), **took, peak_memory_gib=peak_memory_gib())
    options.print_facts(facts, as_json)


def _check_method(method: str, first: str, then: str, model: Path | None, preset: str | None) -> None:
    with stage("loading"):
        from kinfolk.rerank import METHODS

    fits = (first in METHODS and "+" not in method) or (first == "band" and (method == "band" or then in METHODS))
    if not fits:
        raise InputError(f"method must be {NAMES}, not {method!r}")
    if model is not None and first != "band":
        raise InputError(f"--model is for band and band+..., not for {method}")
    if preset is not None and (then or first) in ("band", "cosine"):
        raise InputError(f"{method} has no settings for --preset to choose")


def _read(
    source: Path, gallery: Path | None, part: str | None, labels: Path | None, dim: int | None
) -> tuple[FeatureSet, FeatureSet, str]:
    """Return queries and gallery, of two files or of one with a query mask, and what was read."""
    features = options.read(source, part, labels, dim)
    known, read = None, options.rows_used(features, source)
    if gallery is not None:
        known = options.read(gallery, part, None, dim)
        options.check_one_part(known, gallery, part)
        read = f"{read}; {options.rows_used(known, gallery)}"
    return *options.sides(features, known, source, part, how="after it, the gallery"), read


def _rank(
    query: FeatureSet,
    gallery: FeatureSet,
    first: str,
    then: str,
    model: Path | None,
    seed: int,
    chosen: dict[str, Any],
) -> Ranking:
    from kinfolk.rerank import METHODS, band

    if first != "band":
        return METHODS[first](query, gallery, **chosen)
    from kinfolk.enhance import GraphEnhancer

    enhancer = None if model is None else GraphEnhancer.load(model)
    return band(query, gallery, then or "cosine", enhancer=enhancer, random_state=seed, **chosen)


def _scorer(query: FeatureSet, gallery: FeatureSet, facts: dict[str, Any]) -> ReidScorer | None:
    """Return what scores the whole ranking, if both sides have labels and there is anything to find."""
    from kinfolk.metrics import ReidScorer

    if query.labels is None or gallery.labels is None:
        return None
    try:
        return ReidScorer(query.labels, gallery.labels, query.cameras, gallery.cameras)
    except InputError as reason:
        facts["scores"] = f"none: {reason}"
        return None


def _scores(scorer: ReidScorer) -> dict[str, Any]:
    found = scorer.report()
    means = dict(mAP=found.map, R1=found.rank1, R5=found.rank5, R10=found.rank10, mINP=found.minp)
    return dict(queries_scored=found.queries) | {name: options.Score(value) for name, value in means.items()}
