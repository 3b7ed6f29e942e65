"""kinfolk similarity: Sim-M of every edge, the graph without unlikely edges, and the tests behind a pair."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinfolk._core.checks import check_number
from kinfolk._core.errors import InputError
from kinfolk._core.progress import stage
from kinfolk.cli import options

if TYPE_CHECKING:
    from kinfolk.features import FeatureSet
    from kinfolk.similarity.explain import Explanation


def similarity(
    source: options.Input,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Kept edges, a scipy sparse .npz of Sim-M.")] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", "-k", help="Neighbours of each row; chosen from the data unless given.", callback=options.whole()
        ),
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Sim-M from which on an edge is kept: a number, auto, or theory.")
    ] = "auto",
    explain: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two rows, by name or counted from 0: only print the tests behind this pair."),
    ] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Score every edge by many tests and keep those with enough common neighbours.

    [bold]Example:[/bold]  kinfolk similarity market1501.npz --part test --k 20 -o clean.npz
    """
    chosen = _parse(threshold)
    if out is not None and explain is not None:
        raise InputError("--explain only prints: give it without --out, or --out without it")
    if out is not None:
        if out.suffix != ".npz":
            raise InputError(f"{out}: edges are written as .npz (scipy.sparse.load_npz reads them)")
        options.output(out, force, inputs=[source, labels])
    options.exists(source, labels)
    features = options.read(source, part, labels, dim)
    options.fewer_than_rows(k, len(features))
    pair = None if explain is None else [_row(features, text) for text in explain]
    if chosen == "theory" and features.labels is None:
        raise InputError("a threshold from theory needs labels: they give the chance of a test within a class")
    with stage("loading"):
        from scipy import sparse

        from kinfolk._core.files import replacing
        from kinfolk.kinship import choose_k
        from kinfolk.neighbors import knn_graph
        from kinfolk.similarity import explain as explain_pair
        from kinfolk.similarity import prune
        from kinfolk.theory import labelled_threshold

    graph = knn_graph(features, k or min(80, len(features) - 1))
    if k is None:
        graph = graph.restrict(choose_k(graph) if graph.k >= 5 else graph.k)
    if pair is not None:
        _print_tests(explain_pair(graph, *pair), as_json)
        return
    with options.timed() as took, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if chosen == "theory" and features.labels is not None:
            chosen = labelled_threshold(graph, features.labels)
        cleaner = prune(graph, chosen, y=features.labels)
    kept = f"{cleaner.keep.sum():,} of {cleaner.keep.size:,}"
    facts: dict[str, Any] = dict(set=repr(features), k=graph.k, threshold=round(cleaner.threshold, 4), edges_kept=kept)
    facts["share_kept"] = options.Share(cleaner.keep.mean())
    if cleaner.noise_before is not None and cleaner.noise_after is not None:
        facts["edge_noise_before"] = options.Share(cleaner.noise_before)
        facts["edge_noise_after"] = options.Share(cleaner.noise_after)
    if out is not None:
        with stage("writing"), replacing(out, force) as temporary:
            sparse.save_npz(temporary, cleaner.graph)
        facts["written"] = str(out)
    options.print_facts(facts | took, as_json)
    options.say_notes(caught)


def _row(features: FeatureSet, text: str) -> int:
    """Return the row of this name, or of this number where no row has it as its name."""
    named = [] if features.names is None else (features.names == text).nonzero()[0].tolist()
    if len(named) > 1:
        raise InputError(
            f"--explain: {len(named)} rows have the name {text!r}, the first is row {named[0]}: give its number"
        )
    if named:
        return int(named[0])
    if text.isdecimal() and int(text) < len(features):
        return int(text)
    ways = "rows" if features.names is None else "names or rows"
    raise InputError(f"--explain takes two {ways} from 0 to {len(features) - 1}, not {text!r}")


def _print_tests(tests: Explanation, as_json: bool) -> None:
    """Print an explanation for people, or all of it as one JSON object."""
    if not as_json:
        options.say(tests)
        return
    facts = vars(tests) | {
        "vouchers": [voucher._asdict() for voucher in tests.vouchers],
        "failed": [failed._asdict() for failed in tests.failed],
    }
    options.print_facts(facts, as_json)


def _parse(threshold: str) -> Any:
    """Return a number, "auto" or "theory"."""
    if threshold in ("auto", "theory"):
        return threshold
    try:
        found = float(threshold)
    except ValueError:
        raise InputError(f"--threshold must be a number, auto or theory, not {threshold!r}") from None
    check_number("--threshold", found)
    return found
