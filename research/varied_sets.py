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


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
