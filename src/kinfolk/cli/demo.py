"""kinfolk demo: the main job from data to report, without arguments and without a network."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress_bar import ProgressBar
from rich.table import Table

from kinfolk.cli import options

if TYPE_CHECKING:
    from kinfolk.experiments.edge_study import EdgeStudy
    from kinfolk.experiments.enhance_study import EnhanceStudy

BAR = 44  # characters: the table is then as wide as the one above
IDENTITIES = 300  # as many as the default of kinfolk generate
IDENTITIES_TO_ENHANCE = 48  # half of them to learn from: the whole demo takes half a minute on two cores


def demo(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the report; a new one by default.")] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """See the main job run on data that is already here: neighbours, one test against many, better features, a report.

    [bold]Example:[/bold]  kinfolk demo
    """
    from kinfolk._core.extras import require
    from kinfolk._core.files import record
    from kinfolk.report.demo import demo_page
    from kinfolk.report.page import write_page

    require("torch", extra="train")
    report = (out or _new_folder()) / "report.html"
    options.output_folder(report.parent, "demo")
    options.output(report, force)
    screen = options.console()
    with options.timed() as took:
        edges, enhanced = [], []
        for edge, enhance in zip(_edge_studies(seed), _enhance_studies(seed), strict=True):
            edges.append(edge)
            enhanced.append(enhance)
            if not as_json:
                screen.print(f"\n[bold]{edge.name}[/bold]  {options.plain(edge.features)}\n[dim]{edge.origin}[/dim]")
                screen.print(_edge_table(edge))
                screen.print("", _enhance_table(enhance))
        write_page(demo_page(edges, enhanced), report, force)
        record(report.parent, "demo", [report.name])
    if as_json:
        results = [_facts(*studies) for studies in zip(edges, enhanced, strict=True)]
        options.say(json.dumps(dict(report=str(report), **took, results=results)))
    else:
        screen.print(
            f"\nReport: [bold]{options.plain(report.resolve())}[/bold]  ({took['seconds']:.0f} s)", soft_wrap=True
        )


def _new_folder() -> Path:
    names = itertools.chain(["kinfolk-demo"], (f"kinfolk-demo-{i}" for i in itertools.count(2)))
    return next(Path(name) for name in names if not Path(name).exists())


def _edge_studies(seed: int) -> Iterator[EdgeStudy]:
    from kinfolk.datasets import celeb_like, digits
    from kinfolk.experiments.edge_study import edge_study

    yield edge_study(
        "digits",
        "real data: the handwritten digits of scikit-learn, as raw pixels",
        digits(),
        ks=(5, 10, 20, 40, 80, 160),
        k=40,
    )
    yield edge_study(
        "celeb_like",
        "generated data: its graph behaves like that of MS-Celeb part 1",
        celeb_like(IDENTITIES, seed=seed),
        ks=(5, 10, 20, 40, 80, 120, 160),
        k=40,
    )


def _enhance_studies(seed: int) -> Iterator[EnhanceStudy]:
    from kinfolk.datasets import celeb_like, digits
    from kinfolk.experiments.enhance_study import enhance_study

    yield enhance_study("digits", "1,797 items of ten classes, all at once", digits(), seed=seed)
    celeb = celeb_like(IDENTITIES_TO_ENHANCE, seed=seed)
    half = IDENTITIES_TO_ENHANCE // 2
    note = f"{half} identities of the part test; trained: on {half} others, of the part train"
    yield enhance_study("celeb_like", note, celeb.part("test"), celeb.part("train"), seed=seed)


def _facts(edge: EdgeStudy, enhanced: EnhanceStudy) -> dict[str, object]:
    rows = [row._asdict() for row in edge.over_k]
    scores = {name.replace("-", "_"): score for name, score in enhanced.scores.items()}
    return dict(data=edge.name, origin=edge.origin, rows=rows, enhanced=dict(note=enhanced.note, map=scores))


def _edge_table(study: EdgeStudy) -> Table:
    title = "Does the score of an edge separate true edges from those between two classes?"
    table = Table(title=title, title_justify="left", caption_justify="left", caption=study.sentence)
    for column in ("k", "noisy edges x 100", "AUC x 100, one test (Sim-S)", "many tests (Sim-M)", "difference"):
        table.add_column(column, justify="right")
    for row in study.over_k:
        table.add_row(
            str(row.k), f"{100 * row.enr:.2f}", f"{row.auc_s:.2f}", f"{row.auc_m:.2f}", _gain(row.auc_m - row.auc_s)
        )
    return table


def _enhance_table(study: EnhanceStudy) -> Table:
    title = "Does each item find its class? Raw features against enhanced ones"
    table = Table(title=title, title_justify="left", caption_justify="left", caption=study.note)
    table.add_column("features")
    table.add_column("mAP x 100", justify="right")
    table.add_column("gain", justify="right")
    table.add_column("")
    raw, *enhanced = study.scores.items()
    for name, score in (raw, *enhanced):
        color = "bright_black" if name == raw[0] else "green"
        bar = ProgressBar(total=100, completed=score, width=BAR, complete_style=color)
        table.add_row(name, f"{score:.2f}", "" if name == raw[0] else _gain(score - raw[1]), bar)
    return table


def _gain(points: float) -> str:
    return f"[{'green' if points > 0 else 'red'}]{points:+.2f}[/]"
