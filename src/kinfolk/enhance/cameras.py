r"""What each camera adds to its pictures, taken away: light, height and background make strangers look alike.

    x' = x - mu - s_c (mu_c - mu),     s_c = n_c / (n_c + 100),     rows of length one again afterwards

mu: the mean of all n rows; mu_c, n_c: the mean and the number of those of camera c. Where each camera sees things of
its own, mu_c is what these look like and must stay. So it is taken away only where cameras see the same things: the ten
nearest of a row are of another camera at least a quarter as often as any row is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk.features import UnitRows
from kinfolk.neighbors import knn_graph

FEW_ROWS = 100  # of a camera: with fewer its mean is that of the few things it happened to see
NEAREST, SAMPLE_ROWS = 10, 1000
AS_OFTEN = 0.25  # re-ID sets have 0.7 to 0.9, cameras with things of their own nearly 0


class Cameras(NamedTuple):
    """The cameras of a set, their numbers (c,) rising, and what each adds to its rows, (c, d)."""

    numbers: NDArray[np.int64]
    added: NDArray[np.float32]

    def without(self, unit: NDArray[np.float32], cameras: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return rows (n, d) without what their cameras (n,) add; a camera that is not known adds nothing.

        >>> few = Cameras(np.array([3]), np.ones((1, 2), dtype=np.float32))
        >>> few.without(np.full((2, 2), 5, dtype=np.float32), np.array([3, 4])).tolist()
        [[4.0, 4.0], [5.0, 5.0]]
        """
        place = np.minimum(np.searchsorted(self.numbers, cameras), len(self.numbers) - 1)
        known = (self.numbers[place] == cameras)[:, None]
        return unit - np.where(known, self.added[place], np.float32(0))


def cameras_of(unit: NDArray[np.float32], cameras: NDArray[np.integer] | None) -> Cameras | None:
    """Return what cameras (n,) add to rows (n, d) of length one; None where they see different things, or are one.

    >>> rng = np.random.default_rng(0)
    >>> things, light = np.repeat(np.eye(4, 20), 20, axis=0), 0.05 * rng.standard_normal((2, 20))
    >>> camera = np.tile([0, 1], 40)
    >>> rows = (things + light[camera] + 0.1 * rng.standard_normal((80, 20))).astype(np.float32)
    >>> unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    >>> cameras_of(unit, camera).added.shape, cameras_of(unit, np.repeat([0, 1], 40)) is None
    ((2, 20), True)
    """
    if cameras is None:
        return None
    numbers, which, counts = np.unique(cameras, return_inverse=True, return_counts=True)
    if len(numbers) < 2 or not _see_the_same(unit, which, counts):
        return None
    starts = np.append(0, counts.cumsum()[:-1])
    sums = np.add.reduceat(unit[np.argsort(which, kind="stable")], starts, axis=0, dtype=np.float64)
    own = sums / counts[:, None] - unit.mean(axis=0, dtype=np.float64)
    return Cameras(numbers, (own * (counts / (counts + FEW_ROWS))[:, None]).astype(np.float32))


def _see_the_same(unit: NDArray[np.float32], camera: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    rows = np.sort(np.random.default_rng(0).permutation(len(unit))[:SAMPLE_ROWS])
    k = min(NEAREST + 1, len(unit))
    near = knn_graph(UnitRows(unit), k, queries=UnitRows(unit[rows]), method="exact", show_progress=False)
    others = near.indices != rows[:, None]
    across = camera[near.indices] != camera[rows, None]
    by_chance = 1 - ((counts / len(unit)) ** 2).sum()
    return bool(across.sum() / others.sum() >= AS_OFTEN * by_chance)
