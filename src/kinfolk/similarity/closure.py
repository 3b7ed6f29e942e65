"""How closed neighbourhoods are, over k: a picture of the classes that needs no labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinfolk.errors import InputError
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity.sim_m import sim_m

USUAL_KS = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320)
ANY = -2.0  # a threshold that every test passes


class TooManyNeighborsWarning(UserWarning):
    """k looks larger than the classes: most common candidates may be strangers, and many tests then mislead."""


def closure(g: NeighborGraph, ks: Sequence[int]) -> NDArray[np.float64]:
    r"""Return for each k the mean share of candidates that two neighbours have in common.

    closure(k) = mean over edges (i, j) of |V_i and V_j| / (k + 1),   V_i: i and its k nearest neighbours

    Within a class the share grows with k, because the neighbourhoods of its members fill the same class. Beyond the
    size of the classes it falls again: the further neighbours are strangers, and each row has its own.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(np.eye(3).repeat(5, axis=0) + 0.1, k=8)   # three classes of five equal rows
    >>> closure(g, [2, 4, 8]).round(2)
    array([0.87, 1.  , 0.81])
    """
    return np.array([sim_m(g.restrict(k), tests="binary", threshold=ANY).mean(dtype=np.float64) for k in ks])


def choose_k(g: NeighborGraph) -> int:
    """Return the number of neighbours, up to those the graph has, at which neighbourhoods are most closed.

    It follows the size of the classes without knowing them.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(np.eye(6).repeat(11, axis=0) + 0.1, k=40)   # six classes of eleven
    >>> choose_k(g)
    10
    """
    ks = [k for k in USUAL_KS if k <= g.k]
    if not ks:
        raise InputError(f"choosing k needs a graph with at least {USUAL_KS[0]} neighbours a row, this one has {g.k}")
    return int(ks[int(np.argmax(closure(g, ks)))])


def growth_of_strangers(g: NeighborGraph) -> float:
    """Return how much less closed neighbourhoods are at k than at k / 2; warn where k looks too large.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(np.eye(3).repeat(5, axis=0) + 0.1, k=4)
    >>> growth_of_strangers(g) < 0
    True
    """
    half = max(1, g.k // 2)
    before, now = closure(g, [half, g.k])
    growth = float(before - now)
    if growth > TOO_MUCH_GROWTH:
        warnings.warn(
            f"k={g.k} looks larger than the classes: two neighbours share {now:.0%} of their candidates, at k={half} it "
            f"was {before:.0%}; the condition alpha > 1/2 may not hold, try a smaller k",
            TooManyNeighborsWarning,
            stacklevel=3,
        )
    return growth


TOO_MUCH_GROWTH = 0.05
