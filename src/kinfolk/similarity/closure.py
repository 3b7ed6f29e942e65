"""How closed neighbourhoods are, over k: a curve that shows the size of the classes without labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity.sim_m import sim_m

WARNING_KS = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320)
LARGE_DROP = 0.085  # of the closure: separates alpha above 1/2 from alpha below it on the training parts


class TooManyNeighborsWarning(UserWarning):
    """k looks larger than the classes: most common candidates may be of other classes, and many tests then mislead."""


def closure(g: NeighborGraph, ks: Sequence[int]) -> NDArray[np.float64]:
    r"""Return for each k the mean share of neighbours that two neighbours have in common.

    closure(k) = mean over edges (i, j) of |V_i and V_j| / (k - 1),   V_i: the k nearest neighbours of i

    Within a class the share grows with k, because the neighbourhoods of its members fill the same class. Beyond the
    size of the classes it falls again: the further neighbours are of other classes, and differ from row to row.

    Parameters
    ----------
    g : a NeighborGraph (n, k).
    ks : numbers of neighbours, at most k.

    Returns
    -------
    (len(ks),) float64.

    Examples
    --------
    >>> import kinfolk as kf
    >>> rows = np.eye(3).repeat(5, axis=0) + 0.1 * np.random.default_rng(0).random((15, 3))   # three classes of five
    >>> closure(kf.knn_graph(rows, k=8), [2, 4, 8]).round(2)
    array([0.47, 1.  , 0.69])
    """
    return np.array([_mean_share(g.restrict(k)) for k in ks])


def _mean_share(g: NeighborGraph) -> float:
    shares = sim_m(g, tests="binary", threshold=-np.inf, candidates="neighbors")  # every test passes
    return float(shares.mean(dtype=np.float64) * g.k / max(g.k - 1, 1))


def most_closed(g: NeighborGraph, ks: Sequence[int]) -> int:
    """Return which of the k, up to the neighbours that the graph has, has the largest closure.

    >>> import kinfolk as kf
    >>> rows = np.eye(3).repeat(5, axis=0) + 0.1 * np.random.default_rng(0).random((15, 3))   # three classes of five
    >>> most_closed(kf.knn_graph(rows, k=8), [2, 4, 8])
    4
    """
    possible = [k for k in ks if k <= g.k]
    return possible[int(np.argmax(closure(g, possible)))]


def closure_drop(g: NeighborGraph) -> float:
    """Return closure(k / 2) - closure(k).

    >>> import kinfolk as kf
    >>> rows = np.eye(3).repeat(5, axis=0) + 0.1 * np.random.default_rng(0).random((15, 3))
    >>> closure_drop(kf.knn_graph(rows, k=4)) < 0
    True
    """
    before, now = closure(g, [max(1, g.k // 2), g.k])
    return float(before - now)


def warn_if_k_is_large(g: NeighborGraph) -> None:
    """Warn if neighbourhoods are clearly more closed at half of k or less: k then looks larger than the classes."""
    if g.k < 2 * WARNING_KS[0]:
        return
    better = most_closed(g, WARNING_KS)
    before, now = closure(g, [better, g.k])
    if better <= g.k // 2 and before - now > LARGE_DROP:
        warnings.warn(
            f"k={g.k} looks larger than the classes: two neighbours share {now:.0%} of their neighbours, at k={better} "
            f"it was {before:.0%}; the condition alpha > 1/2 may not hold, try k={better}",
            TooManyNeighborsWarning,
            stacklevel=3,
        )
