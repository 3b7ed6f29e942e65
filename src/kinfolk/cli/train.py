"""kinfolk train: learn an enhancer from a labelled feature file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk._core.memory import peak_memory_gib
from kinfolk._core.progress import stage
from kinfolk.cli import options

K = Annotated[
    int | None,
    typer.Option(
        "--k", "-k", help="Neighbours of each row; chosen from the data unless given.", callback=options.whole()
    ),
]
Attention = Annotated[str, typer.Option(help="none, self, quartet, band, quartet_self, band_self, cosine or kernel.")]
Base = Annotated[str, typer.Option(help="gcn or transformer.")]
Layers = Annotated[int, typer.Option(help="1 to 3.", callback=options.whole())]


def train(
    source: options.Input,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the model.")],
    k: K = None,
    attention: Attention = "band",
    base: Base = "gcn",
    layers: Layers = 1,
    recipe: Annotated[
        str,
        typer.Option(help="fast, or paper: the paper's network, loss and optimiser (its bits follow OMP_NUM_THREADS)."),
    ] = "fast",
    steps: Annotated[
        int | None, typer.Option(help="Training steps of the sub-graph models.", callback=options.whole())
    ] = None,
    checkpoint_dir: Annotated[
        Path | None, typer.Option(help="Continue from here after an interruption; the log is written here too.")
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Log for TensorBoard as well.")] = False,
    curves: Annotated[Path | None, typer.Option(help="Learning curves as a figure (.svg, .png or .pdf).")] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn an enhancer from labelled features; kept only where it is better on held-back identities.

    [bold]Example:[/bold]  kinfolk train market1501.npz --part train -o model
    """
    from kinfolk._core.errors import InputError
    from kinfolk._core.files import CHECKPOINTS

    options.output(out, force, "model", inputs=[source, labels])
    options.figure(curves, force, inputs=[source, labels])
    options.output_folder(checkpoint_dir, CHECKPOINTS)
    options.exists(source, labels)
    with stage("loading"):
        from kinfolk.enhance import GraphEnhancer, KeptTrainingFreeWarning
        from kinfolk.enhance._settings import check_settings

        if curves is not None:
            from kinfolk.report.learning_curves import learning_curves  # before the work: it needs an extra

    enhancer = GraphEnhancer(
        "auto" if k is None else k,
        attention,
        base,  # type: ignore[arg-type]
        layers,
        recipe,  # type: ignore[arg-type]
        steps=steps,
        checkpoint_dir=checkpoint_dir,
        tensorboard=tensorboard,
        random_state=seed,
    )
    check_settings(enhancer)
    features = options.read(source, part, labels, dim)
    if features.labels is None:
        raise InputError(f"{source} has no labels to learn from: give --labels, or use kinfolk enhance without a model")
    options.fewer_than_rows(k, len(features))
    with options.timed() as took, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KeptTrainingFreeWarning)
        enhancer.fit(features, features.labels)
    with stage("writing"):
        enhancer.save(out, force)
    if curves is not None and enhancer.log_:
        learning_curves(enhancer.log_, curves, force)
    facts: dict[str, Any] = dict(set=repr(features), k=enhancer.k_, trained=enhancer.trained_)
    facts |= {f"held_back_mAP_{name}": options.Score(score) for name, score in enhancer.scores_.items()}
    if enhancer.scores_:
        facts["held_back_mAP_of"] = "rows of identities that were not learned from, against all others of them"
    for warning in caught:
        if issubclass(warning.category, KeptTrainingFreeWarning):
            facts["note"] = str(warning.message)
    facts |= dict(written=str(out), **took, peak_memory_gib=peak_memory_gib())
    options.print_facts(facts, as_json)
