"""kinfolk generate: a generated feature set on disk, of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinfolk._core.errors import InputError
from kinfolk._core.progress import stage
from kinfolk.cli import options


def generate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="celeb_like, person_like, vehicle_like or digits.")],
    target: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Where to write; a .kf folder takes any size.")],
    identities: Annotated[
        int, typer.Option(help="How many identities to make (digits has its own ten).", callback=options.whole())
    ] = 300,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write generated features whose graphs behave like the paper's data sets, or scikit-learn's digits.

    [bold]Example:[/bold]  kinfolk generate celeb_like celeb.kf --identities 8573
    """
    with stage("loading"):
        from kinfolk import datasets

    if name not in datasets.REGIMES and name != "digits":
        raise InputError(f"unknown data set {name!r}; there are {', '.join(datasets.REGIMES)}, digits")
    options.output_features(target, force)
    with options.timed() as took:
        if name == "digits":
            features = datasets.digits()
            features.save(target, force=force)
        else:
            features = datasets.write(datasets.REGIMES[name], target, identities, seed=seed, force=force)
    options.print_facts(dict(set=repr(features), written=str(target), **took), as_json)
