"""docs/constants.md: every tuned constant, what it was chosen on, and what half and double of it do.

    python -m research.make_constants     # about an hour on two cores; finished lines are not measured again

Scores are those of the training parts of the four real sets, where the constants were chosen: the page describes how
flat a choice is, it is no result. They are mean average precision x 100: of the label-free form, and for supervised
constants on one half of the training identities of a model fitted to the other half.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import kinfolk as kf
from kinfolk.enhance.propagation import Propagation
from kinfolk.features import unit_rows

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs/constants.md", Path(__file__).with_name("results") / "constants.jsonl"
DATA = ROOT.parent / "shared" / "data"
VEHICLES = "vehicle_like"  # generated: classes in families of look-alikes
SETS = ("clinc150", "banking77", "omniglot", "market1501", VEHICLES)
SETS_OF = {"label-free": SETS, "supervised": SETS[2:4]}  # a supervised line takes a fit of each half

LABEL_FREE = "training parts, copies of them thinned to 4, 8 and 30 items a class, generated sets, digits"
SIZES = "training parts, plain and cut to uneven classes, generated sets"
HALVES = "random halves of the training identities"


@dataclass(frozen=True)
class Constant:
    """A tuned number: where it stands, what it means, what it was chosen on, and its half and double."""

    module: str
    name: str
    meaning: str
    chosen_on: str
    kind: str = "label-free"  # or "supervised"

    def changed(self, value: Any, factor: float) -> Any:
        """Return half or double of the number, whole where it is whole."""
        if isinstance(value, tuple):
            return tuple(factor * v for v in value)
        new = value * factor
        return max(1, round(new)) if isinstance(value, int) else new


CONSTANTS = [
    Constant(
        "kinship.choose_k", "FULL_CLASS", "kin count, of 1 or its peak, up to which k is not larger than a class", SIZES
    ),
    Constant("kinship.choose_k", "SURE", "kin count that some k must reach to show a class", SIZES),
    Constant("kinship.choose_k", "VALLEY", "of an earlier kin count, below which a rise shows families", SIZES),
    Constant("kinship.choose_k", "ROWS_PER_NEIGHBOR", "rows of the set for each neighbour", SIZES),
    Constant("kinship.edge_probabilities", "SCALES_AROUND_K", "scales at which edges are judged, of k", LABEL_FREE),
    Constant(
        "enhance.propagation", "NEAREST_SCALE", "the third, small scale, of k", "thinned training parts, generated sets"
    ),
    Constant(
        "enhance.propagation",
        "SMALL_K",
        "largest k that gets the small scale",
        "thinned training parts, generated sets",
    ),
    Constant("enhance.propagation", "theta_q", "weight of log p in the attention", LABEL_FREE),
    Constant("enhance.propagation", "one_way", "weight of an edge that is not reciprocal", LABEL_FREE),
    Constant("enhance.propagation", "hops", "hops of the propagation", LABEL_FREE),
    Constant("enhance.distillation", "LARGEST_K", "largest k of the hops that rows learn from", SIZES),
    Constant("enhance.distillation", "SHARPNESS_FOUND", "temperature of what the hops found", SIZES),
    Constant("enhance.distillation", "SHARPNESS_LEARNED", "temperature of what the map makes", SIZES),
    Constant("enhance.distillation", "MAP_STEPS", "training steps of the map", SIZES),
    Constant("enhance.distillation", "MAP_RATE", "learning rate of the map", SIZES),
    Constant("enhance.distillation", "STRONGEST", "strength of the map for many rows", SIZES),
    Constant("enhance.distillation", "ROWS_PER_DIMENSION", "rows for half of that strength", SIZES),
    Constant("enhance.with_labels", "TEMPERATURES", "of the contrastive loss", HALVES, "supervised"),
    Constant("enhance.with_labels", "FOLDS", "folds of identities", HALVES, "supervised"),
    Constant("training.metric", "STEPS", "training steps of a metric", HALVES, "supervised"),
    Constant("training.metric", "RATE", "learning rate of a metric", HALVES, "supervised"),
    Constant("training.metric", "CLASSES", "classes of a batch", HALVES, "supervised"),
    Constant("training.metric", "ITEMS", "items of a class in a batch", HALVES, "supervised"),
    Constant(
        "kinship.choose_k", "SAME_SIZE", "ratio up to which two k are estimates of one size", HALVES, "supervised"
    ),
]
PROPAGATION = ("theta_q", "one_way", "hops")
SHARES = ("FULL_CLASS", "one_way")  # at most 1


@cache
def training_part(name: str) -> tuple[np.ndarray, np.ndarray]:
    fs = kf.datasets.vehicle_like(seed=7) if name == VEHICLES else kf.load(DATA / f"{name}.npz")
    train = fs.part("train")
    return unit_rows(train), np.asarray(train.labels)


def label_free(name: str, changes: dict[str, Any]) -> float:
    """Return mAP of the label-free form, with changes of the propagation."""
    X, y = training_part(name)
    e = kf.GraphEnhancer(show_progress=False).fit(X)
    e.propagation_ = replace(e.propagation_, **changes)
    return 100 * kf.metrics.mean_average_precision(e.transform(X), y, n_queries=min(3000, len(X)))


def supervised(name: str) -> float:
    """Return mAP on one half of the training identities of a model fitted to the other half, the mean of both ways."""
    X, y = training_part(name)
    half = np.isin(y, np.random.default_rng(0).permutation(np.unique(y))[::2])
    scores = []
    for seen in (half, ~half):
        e = kf.GraphEnhancer(show_progress=False).fit(X[seen], y[seen])
        scores.append(
            100 * kf.metrics.mean_average_precision(e.transform(X[~seen]), y[~seen], n_queries=min(1500, np.sum(~seen)))
        )
    return float(np.mean(scores))


@contextmanager
def _set(constant: Constant, value: Any) -> Iterator[None]:
    """Give a constant another value, also where it is the default of an argument."""
    holder = import_module(f"kinfolk.{constant.module}")
    before = getattr(holder, constant.name)
    defaults = {"CLASSES": 0, "ITEMS": 1}.get(constant.name)
    batches = import_module("kinfolk.training.metric").ConfusedClasses.__init__
    old = batches.__defaults__
    setattr(holder, constant.name, value)
    if defaults is not None:
        batches.__defaults__ = tuple(value if i == defaults else v for i, v in enumerate(old))
    try:
        yield
    finally:
        setattr(holder, constant.name, before)
        batches.__defaults__ = old


def measure(constant: Constant, factor: float, name: str) -> float:
    """Return the score of one set with the constant times the factor."""
    value = value_of(constant)
    if factor != 1:
        value = constant.changed(value, factor)
        value = min(1.0, value) if constant.name in SHARES else value
    if constant.name in PROPAGATION:
        return label_free(name, {constant.name: value})
    with _set(constant, value):
        return supervised(name) if constant.kind == "supervised" else label_free(name, {})


def value_of(constant: Constant) -> Any:
    if constant.name in PROPAGATION:
        return getattr(Propagation(), constant.name)
    return getattr(import_module(f"kinfolk.{constant.module}"), constant.name)


def main() -> None:
    done = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            row = json.loads(line)
            done[row["constant"], row["factor"], row["set"]] = row["score"]
    with RESULTS.open("a") as file:
        for constant in CONSTANTS:
            for factor in (1.0, 0.5, 2.0):
                for name in SETS_OF[constant.kind]:
                    key = (constant.kind if factor == 1 else constant.name, factor, name)
                    if key not in done:
                        done[key] = measure(constant, factor, name)
                        row = {"constant": key[0], "factor": factor, "set": name, "score": done[key]}
                        file.write(json.dumps(row) + "\n")
                        file.flush()
                        print(*key, round(done[key], 2), flush=True)
    PAGE.write_text(page(done))


def change(done: dict[tuple[str, float, str], float], constant: Constant, factor: float) -> str:
    """Return the mean change over the sets, and the set that loses most; a dash where a set is not measured yet."""
    gains = {}
    for name in SETS_OF[constant.kind]:
        if (constant.name, factor, name) not in done:
            return "–"
        gains[name] = done[constant.name, factor, name] - done[constant.kind, 1.0, name]
    worst = min(gains, key=lambda name: gains[name])
    mean = f"{np.mean(list(gains.values())):+.1f}"
    return f"{mean} ({worst} {gains[worst]:+.1f})" if gains[worst] < -0.05 else mean


def page(done: dict[tuple[str, float, str], float]) -> str:
    """Return the page."""
    lines: dict[str, list[str]] = {"label-free": [], "supervised": []}
    for constant in CONSTANTS:
        cells = [change(done, constant, factor) for factor in (0.5, 2.0)]
        facts = (f"`{constant.name}`", f"`{constant.module}`", value_of(constant), constant.meaning, constant.chosen_on)
        lines[constant.kind].append(f"| {' | '.join(map(str, (*facts, *cells)))} |")
    before = {
        kind: ", ".join(f"{name} {done[kind, 1.0, name]:.1f}" for name in names) for kind, names in SETS_OF.items()
    }
    return TEXT.format(
        before=before["label-free"],
        halves=before["supervised"],
        free="\n".join(lines["label-free"]),
        supervised="\n".join(lines["supervised"]),
    )


TEXT = """# Tuned constants

Nothing in kinfolk has to be set, so some numbers inside were. These are the numbers behind the default path that were
chosen by looking at scores, what they were chosen on, and what half and double of each do. Sizes of blocks, iteration
limits and numbers that follow from an equation are not here; their reasons stand beside them in the code.

Scores are those of the **training parts** of the four real sets and of generated vehicles, whose classes come in
families of look-alikes: this page shows how flat each choice is, it is no result. `python -m research.make_constants`
measures it again.

## Without labels

Change of the mean average precision of the label-free features, in points: the mean of five sets, and the set that
loses most. As they are: {before}.

| constant | module | value | meaning | chosen on | half | double |
|---|---|---|---|---|---|---|
{free}

The first four choose [k](enhance.md#how-it-works): the largest one whose 2 k nearest neighbours hold `FULL_CLASS` k
kin, or that share of the most there are where they never hold k; at most one for every `ROWS_PER_NEIGHBOR` rows; and 2
where no k reaches `SURE`. `FULL_CLASS` at double is 1, the weight of a one-way edge 0.4. `SCALES_AROUND_K` moves both
scales, 0.6 and 1.2. Where the count falls below `VALLEY` of an earlier one and rises again, larger k are left out.
`enhance.distillation` is the map that rows learn; `MAP_STEPS` and `MAP_RATE` move it together.

A dash is not measured yet.

## With labels

Change of the mean average precision on one half of the training identities, fitted to the other half, both ways, one
seed: the mean of two sets, and the one that loses. As they are: {halves}.

| constant | module | value | meaning | chosen on | half | double |
|---|---|---|---|---|---|---|
{supervised}

`STRENGTHS` and `K_FACTORS` of `enhance.with_labels` are the values that held-back identities choose from.

## Pruning

The label-free threshold of `similarity.prune` has: `BASE_SHARE`, `FEWER_OVER_K`, `MORE_PER_DROP` and `LOWEST_DROP`.
They were chosen on the training parts and generated sets, k from 10 to 80, and are judged in
[similarity](similarity.md).
`LARGE_DROP` of `similarity.closure` separates graphs with alpha above 1/2 from those below on the training parts.
"""


if __name__ == "__main__":
    main()
