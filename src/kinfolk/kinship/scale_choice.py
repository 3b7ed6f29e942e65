r"""A check of the k for features: what it is expected to gain, beside what any other k is.

    gain(k, share) = mAP of normalise((1 - share) x + share z_k) - mAP of the features as given, in points

Boosted trees predict it from what the graph shows at each k (`kinfolk.kinship.scale_views`). The k read off the kin
count (`k_for_features`) is kept unless it is expected to be more than `MARGIN` points below the best of the
smaller k and both shares, or to harm; then that best one is taken, which may keep half of the raw features. Where none
of them is expected to gain, the features stay as they are. A k that is too small is not what is guarded against:
classes of three would get one that is worse than raw (tests/enhance/test_graph_enhancer.py).

The count is right where classes are of about one size. Where few large classes hide many small ones, its k is that of
the large ones, and the small ones vanish in it: the trees know what that costs. They were trained on generated sets of
at most `MOST_ROWS` rows (research/gain_training.py), and larger sets are not checked: on plain ones they expect far too
little of a k that is right.
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

SHIPPED = Path(__file__).with_name("gain.safetensors")
SHARES = (1.0, 0.5)  # of the enhanced features in the result
# Of the sets the trees have seen. On plain sets of 4,000 rows, 0.6 of banking77's training classes, they expect that
# k loses 4 points against raw.
MOST_ROWS = 1600
# Points. On training parts that are plain, a gap of up to 2.4 can be wrong by more than a point, and a larger one costs
# at most 0.6; on uneven draws a larger one is worth 8 on average.
MARGIN = 2.5


class Scale(NamedTuple):
    """A choice for one graph.

    Attributes
    ----------
    k : neighbours.
    share : of the enhanced features in the result; 0: the features stay as they are.
    gain : the expected gain of mean average precision over the features as given, in points of 100; nan: not known.
    """

    k: int
    share: float
    gain: float


def checked(k: int, ks: Sequence[int], gains: NDArray[np.floating]) -> Scale:
    """Return k, or what is expected to be far better among the k up to it, from the gains (shares, ks).

    >>> gains = np.array([[3.0, 2.0], [2.0, 1.0]])
    >>> checked(8, [4, 8], gains), checked(8, [4, 8], gains - [0, 9])
    (Scale(k=8, share=1.0, gain=2.0), Scale(k=4, share=1.0, gain=3.0))
    """
    up_to_k = gains[:, : max(1, np.searchsorted(ks, k, side="right"))]
    share, a = divmod(int(up_to_k.argmax()), up_to_k.shape[1])
    best = float(up_to_k[share, a])
    if best <= 0:
        return Scale(k, 0.0, 0.0)
    gain = float(np.interp(np.log(k), np.log(ks), gains[0]))
    if gain >= max(best - MARGIN, 0):
        return Scale(k, 1.0, gain)
    return Scale(ks[a], SHARES[share], best)


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
