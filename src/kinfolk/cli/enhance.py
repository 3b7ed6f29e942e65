"""kinfolk enhance: better features for a feature file, with or without a trained model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinfolk._core.errors import InputError
from kinfolk._core.memory import peak_memory_gib
from kinfolk._core.progress import stage
from kinfolk.cli import options

if TYPE_CHECKING:
    from kinfolk.features import FeatureSet


def enhance(
    source: options.Input,
    out: Annotated[Path, typer.Option("--out", "-o", help="Feature file of any format; labels and names go along.")],
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Folder that kinfolk train wrote.")] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Take the neighbours from this feature file: new items, an existing gallery.")
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="Neighbours; chosen from the data unless given.", callback=options.whole()),
    ] = None,
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Replace each vector by the mean of its kin; without a model no labels are needed.

    [bold]Example:[/bold]  kinfolk enhance photos.npz -o better.npz
    """
    from kinfolk._core.files import existing_folder
    from kinfolk.formats import check_save, dropped

    options.output_features(out, force, inputs=[source, model, reference, labels])
    if model is not None:
        existing_folder(model, "a model folder")
    options.exists(source, reference, labels)
    features = options.read(source, part, labels, dim)
    known = None if reference is None else options.read(reference, None, None, dim)
    options.fewer_than_rows(k, len(features if known is None else known))
    check_save(replace(features, enhanced=True), out, force)
    lost = dropped(features, out)
    with stage("loading"):  # after the files are checked: these imports take seconds
        from kinfolk.enhance import GraphEnhancer

    with options.timed() as took:
        if model is None:
            enhancer = GraphEnhancer("auto" if k is None else k, random_state=seed)
            if known is None:
                better = enhancer.fit_transform(features)
            else:
                better = enhancer.fit(known).transform(features, reference=known)
        else:
            enhancer = GraphEnhancer.load(model)
            enhancer.set_params(**({} if k is None else {"k": k}))
            better = enhancer.transform(features, reference=known)
    enhanced = replace(features, features=better, enhanced=True)
    with stage("writing"):
        enhanced.save(out, force)
    facts: dict[str, Any] = dict(set=repr(features), model=str(model or "label-free"))
    # a model chooses k anew for rows with classes of another size
    facts["k_of_the_fit" if model is not None and k is None else "k"] = k or enhancer.k_
    with stage("scoring"):
        facts |= _precisions(features, enhanced)
    if lost:
        facts["left_out"] = f"{', '.join(lost)}: this format has no place for it"
    facts |= dict(written=str(out), **took, peak_memory_gib=peak_memory_gib())
    options.print_facts(facts, as_json)


def _precisions(features: FeatureSet, enhanced: FeatureSet) -> dict[str, Any]:
    """Return the mAP before and after, as kinfolk evaluate has it, or why there is none."""
    from kinfolk.metrics import feature_scores
    from kinfolk.metrics.feature_scores import marks_queries

    if features.labels is None:
        return {}
    parts = options.parts_of(features)
    if marks_queries(features) and len(parts) > 1:
        return dict(mAP=f"not of {' and '.join(parts)} together: kinfolk evaluate --part has that of one part")
    try:
        before, after = feature_scores(features), feature_scores(enhanced)
    except InputError as reason:
        return dict(mAP=f"none: {reason}")
    scores = {f"mAP_{when}": found.scores.values()["map"] for when, found in (("before", before), ("after", after))}
    return {name: options.Score(value) for name, value in scores.items()} | dict(mAP_of=str(before))
