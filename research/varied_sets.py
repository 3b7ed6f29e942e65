"""Generated sets that differ as much as real ones do: the shipped kinship network is trained on them."""

from __future__ import annotations

import numpy as np

from kinfolk.datasets.generator import Regime, generate_block
from kinfolk.features import FeatureSet


def varied(seed: int) -> FeatureSet:
    """Return a small set with classes, look-alikes, views, quality, dimension and spectrum drawn at random.

    The dimensions are weighted by a power law, t ** (-a / 2) for dimension t, as the spectra of learned features are:
    without it items of different classes share no neighbours, which real ones do.

    >>> varied(0).dim
    365
    >>> len(varied(1)), len(varied(2))
    (1282, 617)
    """
    rng = np.random.default_rng(seed)
    rows = _between(rng, 300, 5000)
    items = _between(rng, 3, 200)
    views = int(rng.integers(1, 20))
    view_global = rng.uniform(0, 0.5)
    regime = Regime(
        items_mean=items,
        items_spread=rng.uniform(0, 0.9),
        family_size=int(rng.integers(1, 30)),
        family_share=rng.uniform(0, 0.75),
        views=views,
        views_per_identity=int(rng.integers(1, views + 1)),
        recorded=False,
        view_share=rng.uniform(0, 0.5),
        view_global=view_global,
        view_family=rng.uniform(0, 0.8) * (1 - view_global),
        noise=_between(rng, 0.3, 1.7),
        identity_spread=rng.uniform(0, 0.5),
        item_spread=rng.uniform(0, 0.5),
    )
    dim = int(_between(rng, 48, 512))
    spectrum = np.arange(1, dim + 1) ** (-rng.uniform(0, 2) / 2)
    block = generate_block(regime, range(max(6, int(rows / items))), seed, dim)
    return FeatureSet(block.features * spectrum.astype(np.float32), labels=block.labels)


def thinned(fs: FeatureSet, seed: int, most: int) -> FeatureSet:
    """Return at most `most` rows of a set, with class sizes as they are or as uneven as people have them.

    Two in five keep their sizes; else sizes fall by a power law, or a few classes keep theirs among small ones or
    among rows that are alone.

    >>> len(thinned(varied(1), 0, 500)) <= 500
    True
    """
    assert fs.labels is not None
    rng = np.random.default_rng(seed)
    classes, own, sizes = np.unique(fs.labels, return_inverse=True, return_counts=True)
    rank = rng.permutation(len(classes))
    kind = rng.choice(["plain", "zipf", "few", "loners"], p=[0.4, 0.2, 0.2, 0.2])
    large = rank < max(2, rng.uniform(0.03, 0.4) * len(classes))
    wanted = {
        "plain": sizes,
        "zipf": sizes / (1 + rank) ** rng.uniform(0.4, 1.1),
        "few": np.where(large, sizes, sizes / rng.uniform(5, 25)),
        "loners": np.where(large, sizes, 1),
    }[kind]
    keep = np.ceil(wanted).astype(int)
    first_classes = np.argsort(rank)
    fits = np.cumsum(keep[first_classes]) <= most
    keep[first_classes[~fits]] = 0
    order = rng.permutation(len(own))
    place = np.empty(len(own), dtype=np.int64)  # of a row among those of its class, in a random order
    by_class = order[np.argsort(own[order], kind="stable")]
    place[by_class] = np.arange(len(own)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return fs.take(np.flatnonzero(place < keep[own]))


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
