r"""Generated features whose neighbour graphs behave like those of faces, persons and vehicles.

Item t of identity i, of family f, seen in view c (a camera; for faces a pose, which is not recorded):

    centre_i = sqrt(family_share) F_f + sqrt(1 - family_share) I_i
    view_ic  = sqrt(view_global) G_c + sqrt(view_family) H_fc + sqrt(1 - view_global - view_family) J_ic
    x_t      = normalise(centre_i + s_t (sqrt(view_share) view_ic + sqrt(1 - view_share) e_t))
    s_t      = noise exp(identity_spread z_i + item_spread z_t)

F, I, G, H, J, e are Gaussian vectors of expected length one, z standard normal; the number of items is lognormal. F
makes the identities of a family look alike: the wrong neighbours of their items are of the same few identities, which
many tests cannot correct once k exceeds the class. G is the effect of a view on all identities, H that on a family, J
that on one identity. s is the lack of quality: items with a large s have wrong neighbours already at a small k, but at
low similarities. Within a family z_i and the number of items are stratified, one identity for each quantile, so that a
few hundred identities already behave like thousands.

Every family and every identity has a random generator of its own, keyed by (seed, stream, number). Rows depend neither
on the block they are made in nor on the number of identities, so sets of any size can be written block after block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_GLOBAL, _STRATA, _FAMILY, _IDENTITY = range(4)  # streams of random numbers
IDENTITIES_PER_BLOCK = 256  # 17 MB of vectors at 68 items of 256 dimensions


@dataclass(frozen=True)
class Regime:
    """Parameters of one kind of data set; see the equation at the top of the module.

    Parameters
    ----------
    items_mean, items_spread : lognormal distribution of the number of items of an identity, at least 2.
    family_size : number of consecutive identities that look alike.
    family_share : share of the squared length of a centre that its family has in common.
    views : number of cameras, or of poses.
    views_per_identity : number of views in which an identity is seen.
    recorded : whether the views are cameras that the set knows.
    view_share : share of the view in the squared length of what is added to the centre; the rest is noise of the item.
    view_global, view_family : shares of the effect of a view that are common to all identities, and to a family.
    noise : median length of what is added to the centre, whose length is one.
    identity_spread, item_spread : spread of the logarithm of that length over identities, and over items.
    """

    items_mean: float
    items_spread: float
    family_size: int
    family_share: float
    views: int
    views_per_identity: int
    recorded: bool
    view_share: float
    view_global: float
    view_family: float
    noise: float
    identity_spread: float
    item_spread: float


class Block(NamedTuple):
    """Rows of consecutive identities: features (n, d) of length one, labels (n,), cameras (n,)."""

    features: NDArray[np.float32]
    labels: NDArray[np.int64]
    cameras: NDArray[np.int64]


class _Plan(NamedTuple):
    """Random choices made for an identity before its vectors, and the generator of the vectors."""

    rng: np.random.Generator
    scales: NDArray[np.float32]  # s_t of each item
    views: NDArray[np.int64]  # of each item


def item_counts(regime: Regime, identities: int, seed: int) -> NDArray[np.int64]:
    """Return the number of items of each identity (identities,), without their vectors."""
    return np.array([_sizes_and_quality(regime, seed, number)[1] for number in range(identities)])


def generate_blocks(regime: Regime, identities: int, seed: int, dim: int) -> Iterator[Block]:
    """Make all rows, identity after identity, in blocks that fit into memory."""
    for first in range(0, identities, IDENTITIES_PER_BLOCK):
        yield generate_block(regime, range(first, min(first + IDENTITIES_PER_BLOCK, identities)), seed, dim)


def generate_block(regime: Regime, numbers: range, seed: int, dim: int) -> Block:
    """Make all rows of the identities with these numbers; their labels are the numbers."""
    plans = [_plan(regime, seed, number) for number in numbers]
    sizes = [len(plan.scales) for plan in plans]
    features = np.empty((sum(sizes), dim), dtype=np.float32)
    everywhere = _directions(_generator(seed, _GLOBAL, 0), regime.views, regime.view_global, dim)
    family = -1
    stop = 0
    for number, plan in zip(numbers, plans, strict=True):
        if number // regime.family_size != family:
            family = number // regime.family_size
            rng = _generator(seed, _FAMILY, family)
            centre = _directions(rng, 1, regime.family_share, dim)
            views = everywhere + _directions(rng, regime.views, regime.view_family, dim)
        start, stop = stop, stop + len(plan.scales)
        _fill(regime, plan, centre, views, features[start:stop])
    labels = np.repeat(np.arange(numbers.start, numbers.stop), sizes)
    return Block(features, labels, np.concatenate([plan.views for plan in plans]))


def _generator(seed: int, stream: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy=seed, spawn_key=(stream, number))))


def _directions(rng: np.random.Generator, count: int, share: float, dim: int) -> NDArray[np.float32]:
    """Return Gaussian vectors of expected squared length `share`: (count, dim)."""
    return rng.standard_normal((count, dim), dtype=np.float32) * np.float32(np.sqrt(share / dim))


@lru_cache(maxsize=4)
def _strata(regime: Regime, seed: int, family: int) -> NDArray[np.int64]:
    """Return the rank of each identity of a family in items and in quality: (2, family_size)."""
    rng = _generator(seed, _STRATA, family)
    return np.stack([rng.permutation(regime.family_size) for _ in range(2)])


def _sizes_and_quality(regime: Regime, seed: int, number: int) -> tuple[np.random.Generator, int, float]:
    """Return the identity's generator, its number of items, and its z_i."""
    rng = _generator(seed, _IDENTITY, number)
    ranks = _strata(regime, seed, number // regime.family_size)[:, number % regime.family_size]
    quantiles = (ranks + rng.random(2)) / regime.family_size
    z_items, z_quality = (NormalDist().inv_cdf(min(max(q, 1e-9), 1 - 1e-9)) for q in quantiles)
    items = regime.items_mean * np.exp(regime.items_spread * z_items - regime.items_spread**2 / 2)
    return rng, max(2, round(items)), z_quality


def _plan(regime: Regime, seed: int, number: int) -> _Plan:
    rng, items, z_quality = _sizes_and_quality(regime, seed, number)
    logs = regime.identity_spread * z_quality + regime.item_spread * rng.standard_normal(items)
    seen = rng.permutation(regime.views)[: regime.views_per_identity]
    views = seen[rng.integers(len(seen), size=items)]
    return _Plan(rng, (regime.noise * np.exp(logs)).astype(np.float32), views)


def _fill(
    regime: Regime, plan: _Plan, centre: NDArray[np.float32], views: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Write the vectors of one identity, given its family's share of the centre (1, d) and of the views (v, d)."""
    dim = out.shape[1]
    centre = centre + _directions(plan.rng, 1, 1 - regime.family_share, dim)
    own = 1 - regime.view_global - regime.view_family
    views = np.float32(np.sqrt(regime.view_share)) * (views + _directions(plan.rng, regime.views, own, dim))
    plan.rng.standard_normal(out=out, dtype=np.float32)
    out *= np.float32(np.sqrt((1 - regime.view_share) / dim))
    out += views[plan.views]
    out *= plan.scales[:, None]
    out += centre
    out /= np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
