"""Settings of a re-ranker: as given, as in the literature, or from the k that fits the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kinfolk._core.checks import check_number, check_whole, is_whole
from kinfolk._core.errors import InputError
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.choose_k import k_for_ranking, neighbors_to_choose
from kinfolk.neighbors import NeighborGraph
from kinfolk.rerank._pool import Neighbors, Pool

Preset = Literal["paper"] | None


@dataclass(frozen=True)
class Defaults:
    """The settings of a re-ranker: `paper` from the literature, `for_k(k)` where k fits the classes.

    `most(pool)`: the largest number of rows that a given setting may ask for; a chosen one takes what there is.
    """

    paper: Mapping[str, Any]
    for_k: Callable[[int], Mapping[str, Any]]
    most: Callable[[Pool], Mapping[str, int]]

    def resolve(
        self, pool: Pool, preset: Preset, class_k: int | None, **given: Any
    ) -> tuple[dict[str, Any], Neighbors | None]:
        """Return all settings, and the neighbours of the pool if they had to be searched for to choose k.

        Parameters
        ----------
        class_k : the k that fits the classes; None: chosen on the pool, if a setting that was not given depends on it.
        given : every setting by name, None where it was not given.
        """
        if preset not in (None, "paper"):
            raise InputError(f"preset must be 'paper' or None, not {preset!r}")
        chosen = {name: value for name, value in given.items() if value is not None}
        for name, most in self.most(pool).items():
            if name in chosen and is_whole(chosen[name]) and chosen[name] > most:
                raise InputError(f"{name}={chosen[name]} rows are too many: there are {most:,}")
        neighbors = None
        defaults: Mapping[str, Any] = self.paper
        if preset is None:
            defaults = self.for_k(1)
            # settings that do not change with k need no search
            if any(self.for_k(100)[name] != defaults[name] for name in given.keys() - chosen.keys()):
                if class_k is None:
                    neighbors, class_k = neighbors_and_k(pool)
                defaults = self.for_k(class_k)
        settings = {name: chosen.get(name, defaults[name]) for name in given}
        for name, value in settings.items():
            if isinstance(self.paper[name], int):
                check_whole(name, value)
            else:
                check_number(name, value, least=0)
        return settings, neighbors


def neighbors_and_k(pool: Pool) -> tuple[Neighbors, int]:
    """Return the neighbours of the pool and the k that fits its classes (`kinfolk.kinship.choose_k`).

    >>> rows = np.eye(60).repeat(11, axis=0) + 0.1 * np.random.default_rng(0).random((660, 60))  # 60 classes of eleven
    >>> 8 <= neighbors_and_k(Pool(rows[::11], rows))[1] <= 12
    True
    """
    neighbors = pool.neighbors(neighbors_to_choose(len(pool)))
    graph = NeighborGraph(neighbors.indices, neighbors.similarities, len(pool))
    return neighbors, k_for_ranking(KinshipNetwork.shipped(), graph)


def rank_lists(pool: Pool, neighbors: Neighbors | None, length: int) -> Neighbors:
    """Return lists of `length` rows, or of all, each beginning with the row itself.

    Parameters
    ----------
    neighbors : of the pool, if they are known; searched for where they are None or too few.

    Examples
    --------
    >>> pool = Pool([[1, 0.0]], [[0, 2.0], [1, 1]])
    >>> rank_lists(pool, None, 2).indices
    array([[0, 2],
           [1, 2],
           [2, 0]], dtype=int32)
    """
    k = min(max(length - 1, 1), len(pool) - 1)
    if neighbors is None or neighbors.indices.shape[1] < k:
        neighbors = pool.neighbors(k)
    width = min(length, k + 1) - 1
    itself = np.arange(len(pool), dtype=np.int32)[:, None]
    return Neighbors(
        np.hstack([itself, neighbors.indices[:, :width]]),
        np.hstack([np.ones_like(neighbors.lowest)[:, None], neighbors.similarities[:, :width]]),
        neighbors.lowest,
    )
