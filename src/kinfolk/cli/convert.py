"""kinfolk convert: from any feature format to any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinfolk._core.progress import stage
from kinfolk.cli import options


def convert(
    source: options.Input,
    target: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Where to write; the suffix gives the format.")],
    part: options.Part = None,
    labels: options.Labels = None,
    dim: options.Dim = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Turn a feature set from any format into any other.

    [bold]Example:[/bold]  kinfolk convert market1501.npz market_test.parquet --part test
    """
    from kinfolk.formats import dropped

    options.output_features(target, force, inputs=[source, labels])
    options.exists(source, labels)
    features = options.read(source, part, labels, dim)
    lost = dropped(features, target)
    with options.timed() as took, stage("writing"):
        features.save(target, force=force)
    facts = dict(read=str(source), set=repr(features), written=str(target), **took)
    if lost:
        facts["left_out"] = f"{', '.join(lost)}: this format has no place for it"
    options.print_facts(facts, as_json)
