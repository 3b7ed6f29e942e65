"""Settings of a re-ranker: as given, as in the literature, or following the size of the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.choose_k import k_for_ranking, neighbors_to_choose
from kinfolk.neighbors import NeighborGraph
from kinfolk.rerank._pool import Neighbors, Pool

Preset = Literal["paper"] | None


@dataclass(frozen=True)
class Defaults:
    """What a re-ranker uses unless told: `paper` from the literature, `follow(k)` for classes that k fits."""

    paper: Mapping[str, Any]
    follow: Callable[[int], Mapping[str, Any]]

    def settle(
        self, pool: Pool, preset: Preset, scale: int | None, **given: Any
    ) -> tuple[dict[str, Any], Neighbors | None]:
        """Return all settings, and the neighbours of the pool where they were looked for to choose the settings.

        scale: the k that fits the classes, if it is known.
        """
        if preset not in (None, "paper"):
            raise InputError(f"preset must be 'paper' or None, not {preset!r}")
        told = {name: value for name, value in given.items() if value is not None}
        neighbors = None
        usual: Mapping[str, Any] = self.paper
        if preset is None:
            usual = self.follow(1)
            # what does not change with k needs no search
            if any(self.follow(100)[name] != usual[name] for name in given.keys() - told.keys()):
                if scale is None:
                    neighbors, scale = pool_with_k(pool)
                usual = self.follow(scale)
        settings = {name: told.get(name, usual[name]) for name in given}
        for name, value in settings.items():
            _check(name, value, whole=isinstance(self.paper[name], int))
        return settings, neighbors


def _check(name: str, value: Any, whole: bool) -> None:
    kinds = int | np.integer if whole else int | float | np.number
    if isinstance(value, bool) or not isinstance(value, kinds) or not value >= whole:
        raise InputError(f"{name} must be a {'whole number from 1 on' if whole else 'number from 0 on'}, not {value!r}")


def pool_with_k(pool: Pool) -> tuple[Neighbors, int]:
    """Return the neighbours of the pool and the k that fits its classes (`kinfolk.kinship.choose_k`).

    >>> rows = np.eye(6).repeat(11, axis=0) + 0.1 * np.random.default_rng(0).random((66, 6))   # six classes of eleven
    >>> 8 <= pool_with_k(Pool(rows[::11], rows))[1] <= 12
    True
    """
    neighbors = pool.neighbors(neighbors_to_choose(len(pool)))
    graph = NeighborGraph(neighbors.indices, neighbors.similarities, len(pool))
    return neighbors, k_for_ranking(KinshipNetwork.shipped(), graph)


def lists_of(pool: Pool, found: Neighbors | None, entries: int) -> Neighbors:
    """Return rank lists of `entries` rows, or of all, each beginning with the row itself; searched for unless found.

    >>> pool = Pool([[1, 0.0]], [[0, 2.0], [1, 1]])
    >>> lists_of(pool, None, 2).indices
    array([[0, 2],
           [1, 2],
           [2, 0]], dtype=int32)
    """
    k = min(max(entries - 1, 1), len(pool) - 1)
    if found is None or found.indices.shape[1] < k:
        found = pool.neighbors(k)
    itself = np.arange(len(pool), dtype=np.int32)[:, None]
    return Neighbors(
        np.hstack([itself, found.indices[:, :k]])[:, :entries],
        np.hstack([np.ones_like(found.lowest)[:, None], found.similarities[:, :k]])[:, :entries],
        found.lowest,
    )
