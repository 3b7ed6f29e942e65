r"""The choice of k for features: read off the kin count, and checked by what was learned from generated sets.

    k_full = the largest k with c(k) >= 0.98, the kin count of the 2 k nearest (of its most, 0.93, where it is below)

    gain(k, share) = mAP of normalise((1 - share) x + share z_k) - mAP of the features as given, in points

Boosted trees predict the gain from what the graph shows at each k (`kinfolk.kinship.scale_views`). Taken is the largest
k up to k_full that is not expected to lose more than `CLEARLY_WORSE` against the best candidate; if there is none, that
candidate, which may keep half of the raw features; where nothing is expected to gain, the features stay as they are.
The count alone is right where classes are of about one size. The trees, trained on generated sets only
(research/gain_training.py), know what it costs where they are not: k_full is then that of the largest classes, and the
small ones vanish in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from kinfolk._core.boosted_trees import BoostedTrees
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.kinship.scale_views import KIN, views_of_scales
from kinfolk.neighbors import NeighborGraph

SHIPPED = Path(__file__).with_name("gain.safetensors")
SHARES = (1.0, 0.5)  # of the enhanced features in the result
FULL_CLASS = 0.98  # the kin count up to which k is not larger than a class
NEARLY_FULL = 0.93  # the same, of the largest count, where the network finds too few kin at any k
CLEARLY_WORSE = 1.5  # points that the trees cannot tell apart: on training parts 1 and 2 are level


class Scale(NamedTuple):
    """A choice for one graph.

    Attributes
    ----------
    k : neighbours.
    share : of the enhanced features in the result; 0: the features stay as they are.
    gain : the expected gain of mean average precision over the features as given, in points of 100.
    """

    k: int
    share: float
    gain: float


def choose_scale(net: KinshipNetwork, g: NeighborGraph, ks: Sequence[int], seed: int = 0) -> Scale:
    """Return the choice for a graph among the k of a grid and what lies between them.

    >>> import kinfolk as kf
    >>> rows = np.eye(6).repeat(11, axis=0) + 0.1 * np.random.default_rng(0).random((66, 6))   # six classes of eleven
    >>> 8 <= choose_scale(KinshipNetwork.shipped(), kf.knn_graph(rows, k=40), [2, 3, 4, 6, 8, 12, 17]).k <= 12
    True
    """
    views = views_of_scales(net, g, ks, seed)
    return decide(ks, views[:, KIN], expected_gains(shipped_trees(), views))


def decide(ks: Sequence[int], counts: NDArray[np.floating], gains: NDArray[np.floating]) -> Scale:
    """Return the choice from kin counts (ks,) and expected gains (shares, ks).

    >>> decide([4, 8], np.array([1.5, 0.98]), np.array([[3.0, 2.0], [2.0, 1.0]]))
    Scale(k=8, share=1.0, gain=2.0)
    >>> decide([4, 8], np.array([1.5, 0.98]), np.array([[3.0, -5.0], [2.0, -1.0]]))
    Scale(k=4, share=1.0, gain=3.0)
    """
    k_full = last_full(ks, counts)
    gain = float(np.interp(np.log(k_full), np.log(ks), gains[0]))
    best = float(gains.max())
    if best <= 0:
        return Scale(ks[0], 0.0, 0.0)
    enough = max(best - CLEARLY_WORSE, 0)
    if gain >= enough:
        return Scale(round(k_full), 1.0, gain)
    good = [a for a, k in enumerate(ks) if k <= k_full and gains[0, a] >= enough]
    if good:
        return Scale(ks[good[-1]], 1.0, float(gains[0, good[-1]]))
    share, a = divmod(int(gains.argmax()), len(ks))
    return Scale(ks[a], SHARES[share], best)


def last_full(ks: Sequence[int], counts: NDArray[np.floating]) -> float:
    """Return where the counts fall below a full class for good, on a logarithmic scale between two k.

    >>> round(last_full([6, 24], np.array([1.18, 0.78])))
    12
    """
    most = float(counts.max())
    level = FULL_CLASS if most >= FULL_CLASS else NEARLY_FULL * most
    a = int(np.flatnonzero(counts >= level)[-1])
    if a == len(counts) - 1:
        return float(ks[a])
    return float(ks[a] * (ks[a + 1] / ks[a]) ** ((counts[a] - level) / (counts[a] - counts[a + 1])))


def expected_gains(trees: BoostedTrees, views: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the expected gain of each share and k: (shares, ks).

    >>> expected_gains(shipped_trees(), np.zeros((3, 37), dtype=np.float32)).shape
    (2, 3)
    """
    return trees(gain_inputs(views)).reshape(len(SHARES), len(views))


def gain_inputs(views: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inputs of the trees, all k with one share after the other: (shares * ks, INPUTS + 1).

    >>> gain_inputs(np.zeros((3, 37), dtype=np.float32)).shape
    (6, 38)
    """
    return np.vstack([np.column_stack([views, np.full(len(views), share, dtype=np.float32)]) for share in SHARES])


@cache
def shipped_trees() -> BoostedTrees:
    """Return the trees that come with the package.

    >>> shipped_trees() is shipped_trees()
    True
    """
    return BoostedTrees(load_file(SHIPPED))
