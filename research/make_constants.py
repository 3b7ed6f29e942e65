"""docs/constants.md: every tuned constant, what it was chosen on, and what half and double of it do.

    python -m research.make_constants     # about 30 minutes on two cores; finished lines are not measured again

Scores are those of the training parts of the four real sets, where the constants were chosen: the page describes how
flat a choice is, it is no result. Features: mean average precision x 100 of the label-free form. Clusters:
(F_P + F_B) / 2 x 100 of Kin. Supervised constants: mean average precision on one half of the training identities of a
model fitted to the other half.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import kinfolk as kf
from kinfolk._core.rows import of_length_one
from kinfolk.cluster._internal.potts import group_by_potts
from kinfolk.enhance.propagation import Propagation, attention_weights, propagate
from kinfolk.features import UnitRows, unit_rows
from kinfolk.kinship import KinshipNetwork, kin_graph
from kinfolk.kinship.choose_k import k_for_clusters, k_for_features, neighbors_to_choose

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs/constants.md", Path(__file__).with_name("results") / "constants.jsonl"
DATA = ROOT.parent / "shared" / "data"
VEHICLES = "vehicle_like"  # generated: classes in families of look-alikes, which the rules for valleys are about
SETS = ("clinc150", "banking77", "omniglot", "market1501", VEHICLES)
SETS_OF = {"label-free": SETS, "supervised": SETS[2:4]}  # a supervised line takes a fit of each half

LABEL_FREE = "training parts, copies of them thinned to 4, 8 and 30 items a class, generated sets, digits"
CLUSTERS = "training parts, thinned copies, generated sets"
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
    Constant("kinship.choose_k", "FULL_CLASS", "kin count up to which k is not larger than a class", LABEL_FREE),
    Constant(
        "kinship.choose_k",
        "NEARLY_FULL",
        "the same, of the largest count, where the network finds few kin",
        "MNIST pixels, UCI letters",
    ),
    Constant("kinship.choose_k", "NOISY_BELOW", "smallest k at which a valley counts", LABEL_FREE),
    Constant(
        "kinship.choose_k",
        "DROP_BEFORE_VALLEY",
        "minimum drop of the kin count before a valley",
        "generated vehicles, 3 seeds",
    ),
    Constant(
        "kinship.choose_k",
        "RISE_AFTER_VALLEY",
        "minimum rise of the kin count after a valley",
        "generated vehicles, 3 seeds",
    ),
    Constant(
        "kinship.choose_k",
        "DEEP_DROP",
        "minimum drop from a first value that is no peak",
        "generated vehicles, 3 seeds",
    ),
    Constant(
        "kinship.kin_counts",
        "RISE_TO_PEAK",
        "minimum rise to a value that counts as a peak",
        "generated vehicles, 3 seeds",
    ),
    Constant("kinship.choose_k", "PAST_CLASS", "kin count, of its peak, at which k is about a class", CLUSTERS),
    Constant("kinship.choose_k", "WHOLE_CLASS", "kin count from which on a class shows", "thinned training parts"),
    Constant("kinship.choose_k", "FLAT_AFTER_PEAK", "growth behind a peak that counts as standing still", CLUSTERS),
    Constant("kinship.choose_k", "RISE_AFTER_FLAT", "minimum rise behind such a place", CLUSTERS),
    Constant(
        "kinship.choose_k",
        "LARGEST_OVER_PEAK",
        "a valley further out than this many times the peak's k does not count",
        CLUSTERS,
    ),
    Constant("kinship.edge_probabilities", "SCALES_AROUND_K", "scales at which edges are judged, of k", LABEL_FREE),
    Constant(
        "kinship.edge_probabilities",
        "UNLIKELY",
        "probability below which an edge is left out of the graph",
        "not tuned: keeps the graph small",
    ),
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
    Constant("cluster.kin", "EVEN_ODDS", "probability above which a pair counts for a cluster", "not tuned: even odds"),
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


@cache
def training_part(name: str) -> tuple[np.ndarray, np.ndarray]:
    fs = kf.datasets.vehicle_like(seed=7) if name == VEHICLES else kf.load(DATA / f"{name}.npz")
    train = fs.part("train")
    return unit_rows(train), np.asarray(train.labels)


@cache
def raw_graph(name: str) -> tuple[np.ndarray, kf.NeighborGraph]:
    unit, _ = training_part(name)
    rows = of_length_one(unit - unit.mean(axis=0), unit)
    return rows, kf.knn_graph(UnitRows(rows), neighbors_to_choose(len(rows)), show_progress=False)


def label_free(name: str, propagation: Propagation, even_odds: float) -> tuple[float, float]:
    """Return mAP of the label-free form and (F_P + F_B) / 2 of Kin, as the package computes them."""
    _, g = raw_graph(name)
    k = _counted(("features", name), k_for_features, g)
    constants = str(_constants("kinship.edge_probabilities", "enhance.propagation"))
    precision = _precision(name, k, propagation, constants)
    _, enhanced_graph = _for_clusters(name, k, replace(propagation, nearest=False), constants)
    k_clusters = _counted(("clusters", name, k, propagation, constants), k_for_clusters, enhanced_graph)
    return precision, _clusters(name, k, replace(propagation, nearest=False), k_clusters, even_odds, constants)


_counts: dict[Any, np.ndarray] = {}
_memo: dict[Any, Any] = {}


def _remember(key: Any, make: Callable[[], Any]) -> Any:
    if key not in _memo:
        _memo[key] = make()
    return _memo[key]


def _counted(key: Any, choose: Callable[..., int], g: kf.NeighborGraph) -> int:
    """Choose k with kin counts that are computed once a graph: the constants read the curve, they do not change it."""
    module = import_module("kinfolk.kinship.choose_k")
    true = module.kin_counts

    def known(net: KinshipNetwork, graph: kf.NeighborGraph, ks: list[int], seed: int = 0) -> np.ndarray:
        if (key, tuple(ks)) not in _counts:
            _counts[key, tuple(ks)] = true(net, graph, ks, seed)
        return _counts[key, tuple(ks)]

    module.kin_counts = known
    try:
        return choose(KinshipNetwork.shipped(), g)
    finally:
        module.kin_counts = true


def _enhanced(name: str, k: int, propagation: Propagation) -> np.ndarray:
    rows, g = raw_graph(name)
    weights = attention_weights(propagation, KinshipNetwork.shipped(), g, max(1, min(k, g.k)))
    Z = rows
    for _ in range(propagation.hops):
        Z = propagate(weights, g.indices, Z, Z)
    return of_length_one(Z)


def _precision(name: str, k: int, propagation: Propagation, constants: str) -> float:
    def make() -> float:
        Z = UnitRows(_enhanced(name, k, propagation))
        return 100 * kf.metrics.mean_average_precision(Z, training_part(name)[1], n_queries=min(3000, len(Z)))

    return _remember(("map", name, k, propagation, constants), make)


def _for_clusters(name: str, k: int, propagation: Propagation, constants: str) -> tuple[np.ndarray, kf.NeighborGraph]:
    def make() -> tuple[np.ndarray, kf.NeighborGraph]:
        Z = _enhanced(name, k, propagation)
        return Z, kf.knn_graph(UnitRows(Z), neighbors_to_choose(len(Z)), show_progress=False)

    return _remember(("graph", name, k, propagation, constants), make)


def _clusters(name: str, k: int, propagation: Propagation, k_clusters: int, even_odds: float, constants: str) -> float:
    def make() -> float:
        _, g = _for_clusters(name, k, propagation, constants)
        labels = group_by_potts(kin_graph(KinshipNetwork.shipped(), g, k_clusters), even_odds, 0)
        y = training_part(name)[1]
        return 50 * (kf.metrics.pairwise(y, labels).f + kf.metrics.bcubed(y, labels).f)

    return _remember(("f", name, k, propagation, k_clusters, even_odds, constants), make)


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


def _constants(*modules: str) -> list[Any]:
    names = {
        "kinship.edge_probabilities": ("SCALES_AROUND_K", "UNLIKELY"),
        "enhance.propagation": ("NEAREST_SCALE", "SMALL_K"),
    }
    return [getattr(import_module(f"kinfolk.{m}"), n) for m in modules for n in names[m]]


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


def measure(constant: Constant, factor: float, name: str) -> list[float]:
    """Return the scores of one set with the constant times the factor: features and clusters, or supervised."""
    propagation, even_odds = Propagation(), 0.5
    if constant.name in PROPAGATION:
        value = constant.changed(getattr(propagation, constant.name), factor)
        return list(
            label_free(
                name,
                replace(propagation, **{constant.name: min(1.0, value) if constant.name == "one_way" else value}),
                even_odds,
            )
        )
    if constant.name == "EVEN_ODDS":
        return list(label_free(name, propagation, min(0.99, even_odds * factor)))
    value = getattr(import_module(f"kinfolk.{constant.module}"), constant.name)
    with _set(constant, value if factor == 1 else constant.changed(value, factor)):
        return [supervised(name)] if constant.kind == "supervised" else list(label_free(name, propagation, even_odds))


def value_of(constant: Constant) -> Any:
    if constant.name in PROPAGATION:
        return getattr(Propagation(), constant.name)
    return getattr(import_module(f"kinfolk.{constant.module}"), constant.name)


def main() -> None:
    done = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            row = json.loads(line)
            done[row["constant"], row["factor"], row["set"]] = row["scores"]
    with RESULTS.open("a") as file:
        for constant in CONSTANTS:
            for factor in (1.0, 0.5, 2.0):
                for name in SETS_OF[constant.kind]:
                    key = (constant.kind if factor == 1 else constant.name, factor, name)
                    if key not in done:
                        done[key] = measure(constant, factor, name)
                        row = {"constant": key[0], "factor": factor, "set": name, "scores": done[key]}
                        file.write(json.dumps(row) + "\n")
                        file.flush()
                        print(*key, [round(s, 2) for s in done[key]], flush=True)
    PAGE.write_text(page(done))


def change(done: dict[tuple[str, float, str], list[float]], constant: Constant, factor: float, column: int) -> str:
    """Return the mean change over the sets, and the set that loses most; a dash where a set is not measured yet."""
    gains = {}
    for name in SETS_OF[constant.kind]:
        if (constant.name, factor, name) not in done:
            return "–"
        gains[name] = done[constant.name, factor, name][column] - done[constant.kind, 1.0, name][column]
    worst = min(gains, key=lambda name: gains[name])
    mean = f"{np.mean(list(gains.values())):+.1f}"
    return f"{mean} ({worst} {gains[worst]:+.1f})" if gains[worst] < -0.05 else mean


def page(done: dict[tuple[str, float, str], list[float]]) -> str:
    lines: dict[str, list[str]] = {"label-free": [], "supervised": []}
    for constant in CONSTANTS:
        columns = range(2 if constant.kind == "label-free" else 1)
        cells = [change(done, constant, factor, column) for factor in (0.5, 2.0) for column in columns]
        facts = (f"`{constant.name}`", f"`{constant.module}`", value_of(constant), constant.meaning, constant.chosen_on)
        lines[constant.kind].append(f"| {' | '.join(map(str, (*facts, *cells)))} |")
    features = {name: done["label-free", 1.0, name] for name in SETS}
    return TEXT.format(
        before=", ".join(f"{name} {mean_ap:.1f} / {f:.1f}" for name, (mean_ap, f) in features.items()),
        halves=", ".join(f"{name} {done['supervised', 1.0, name][0]:.1f}" for name in SETS_OF["supervised"]),
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

Change of the mean average precision of the label-free features and of (F_P + F_B) / 2 of `Kin`, in points: the mean of
five sets, and the set that loses most. As they are: {before}.

| constant | module | value | meaning | chosen on | half: mAP | half: F | double: mAP | double: F |
|---|---|---|---|---|---|---|---|---|
{free}

`SCALES_AROUND_K` moves both scales, 0.6 and 1.2. The weight of a one-way edge at double is 0.4. Even odds are not
tuned: at 0.25 or 0.99 they are simply other odds. A line of four zeros decided nothing on these sets: it guards others
that were met once (another seed of the generated vehicles, thinned copies, raw pixels).

## With labels

Change of the mean average precision on one half of the training identities, fitted to the other half, both ways, one
seed: the mean of two sets, and the one that loses. As they are: {halves}.

| constant | module | value | meaning | chosen on | half | double |
|---|---|---|---|---|---|---|
{supervised}

`STRENGTHS` and `K_FACTORS` of `enhance.with_labels` are the values that held-back identities choose from.
`SHARE_OF_CLASS` of `kinship.choose_k` (0.8 of the labelled class size) was chosen on halves of the training parts:
[clusters](cluster.md) has its figures.

## Pruning

The label-free threshold of `similarity.prune` has: `BASE_SHARE`, `FEWER_OVER_K`, `MORE_PER_DROP` and `LOWEST_DROP`.
They were chosen on the training parts and generated sets, k from 10 to 80, and are judged in
[similarity](similarity.md).
`LARGE_DROP` of `similarity.closure` separates graphs with alpha above 1/2 from those below on the training parts.
"""


if __name__ == "__main__":
    main()
