"""Train what checks the enhancer's k (`kinfolk.kinship.scale_choice`), on generated sets only.

    python -m research.gain_training FOLDER [FILE]     # 15 minutes on a core; without FILE it is shipped

What each set shows is kept in FOLDER: a run that was interrupted goes on where it was. For each set of
`research.uneven_sets`, and every fourth of `research.varied_sets`: what its graph shows at each k, and by how many
points of mean average precision features enhanced with that k, or mixed half and half with the raw ones, are better
than raw. Sets that are solved as they are (above 99) teach nothing; every fourth of them is tried up to 99.8.

The trees that are shipped are, bit for bit, those of `train` on the 1,209 sets kept at the time, and `measured` gives
the same again. Whether a set is solved was then asked of 100 queries and is of 150 now, so that a few sets near 99 may
come or go.

The inputs are relative to k, so that small sets, which are cheap, teach for large ones; but sets larger than these were
found to be judged wrongly (banking77, plain, 4,000 rows), and are not checked.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sklearn.ensemble import HistGradientBoostingRegressor

from kinfolk import InputError
from kinfolk._core.boosted_trees import BoostedTrees
from kinfolk._core.files import replacing
from kinfolk._core.rows import of_length_one
from kinfolk.enhance.propagation import Propagation, attention_weights, mixed, propagate
from kinfolk.features import UnitRows
from kinfolk.kinship.choose_k import feature_ks, neighbors_to_choose
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.kinship.scale_choice import MOST_ROWS, SHARES, SHIPPED, gain_inputs
from kinfolk.kinship.scale_views import views_of_scales
from kinfolk.metrics import mean_average_precision
from kinfolk.neighbors import knn_graph
from research.uneven_sets import uneven_set
from research.varied_sets import thinned, varied

SEEDS = range(200, 2791)
ROWS = (30, 700)  # of a set, as a guide
FEWEST = 16
VARIED_ROWS = 150  # at least: a thinned set needs room for a class
QUERIES = 150
FURTHEST = 20.0  # points: what is better or worse by more is as good or bad
MODELS = 4  # whose mean is taken
BOOSTING = dict(
    max_iter=150, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=100, l2_regularization=5.0, max_features=0.3
)


def drawn(seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
    """Return unit rows and classes of this seed; None where the set cannot teach."""
    low, high = np.log(ROWS)
    n = int(np.exp(np.random.default_rng(seed).uniform(low, high)))
    if seed % 4 == 3:
        try:
            fs = thinned(varied(seed), seed, max(n, VARIED_ROWS))
        except InputError:  # no class fits
            return None
        features, labels = np.asarray(fs.features), np.asarray(fs.labels)
    else:
        _, features, labels = uneven_set(seed, n)
    classes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if not FEWEST <= len(classes) <= MOST_ROWS or np.bincount(classes).max() < 2:
        return None
    X = of_length_one(features.astype(np.float32))
    return (X, classes) if _points(X, classes) <= (99.8 if seed % 4 == 0 else 99.0) else None


def measured(X: NDArray[np.float32], classes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return what is seen at each k, (ks, INPUTS), and the gains over raw in points, (shares, ks)."""
    net, rows = KinshipNetwork.shipped(), of_length_one(X - X.mean(axis=0), X)
    g = knn_graph(UnitRows(rows), k=neighbors_to_choose(len(rows)), show_progress=False)
    ks = feature_ks(g)
    raw, gains = _points(X, classes), np.empty((len(SHARES), len(ks)))
    for a, k in enumerate(ks):
        weights, Z = attention_weights(Propagation(), net, g, k), rows
        for _ in range(Propagation.hops):
            Z = propagate(weights, g.indices, Z, Z)
        Z = of_length_one(Z)
        gains[:, a] = [_points(mixed(rows, Z, share), classes) - raw for share in SHARES]
    return dict(views=views_of_scales(net, g, ks), gains=gains)


def train(sets: list[dict[str, NDArray[Any]]]) -> BoostedTrees:
    """Return trees from what is seen and the share to the gain in points; every set has the same weight."""
    inputs = np.concatenate([gain_inputs(s["views"]) for s in sets])
    gains = np.concatenate([np.clip(s["gains"].ravel(), -FURTHEST, FURTHEST) for s in sets])
    weight = np.concatenate([np.full(s["gains"].size, 1 / s["gains"].size) for s in sets])
    models = [
        HistGradientBoostingRegressor(**BOOSTING, random_state=seed).fit(inputs, gains, weight / weight.mean())
        for seed in range(MODELS)
    ]
    return BoostedTrees.of(models)


def _points(X: NDArray[np.float32], classes: NDArray[np.int64]) -> float:
    return 100 * mean_average_precision(UnitRows(X), classes, n_queries=min(QUERIES, len(X)))


def main() -> None:
    """Measure what is missing in the folder, train, and write the trees."""
    folder, file = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else SHIPPED
    folder.mkdir(parents=True, exist_ok=True)
    for seed in SEEDS:
        part = folder / f"{seed}.npz"
        found = None if part.exists() else drawn(seed)
        if found is not None:
            with replacing(part, force=False) as temporary, temporary.open("wb") as stream:
                np.savez(stream, **measured(*found))  # type: ignore[arg-type]
    trees = train([dict(np.load(part)) for part in sorted(folder.glob("*.npz"))])
    with replacing(file, force=True) as temporary:
        save_file(trees.tensors, temporary)
    print(f"{file}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
