r"""One tree over the rows whose cuts are nested, with a probability at every merge.

    p = sigmoid(steepness (s - s_0) / spread),     at least 1/2 inside the chosen clusters, below 1/2 between them

s: the mean similarity of the two clusters that are merged; s_0: that at which the chosen clusters are cut; spread: of
the similarity of any two rows. Rows that are known to be together, near copies and must_link, are merged first, p = 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.union_find import connected, find

UNDER_EVEN = float(np.nextafter(0.5, 0))


class Tree(NamedTuple):
    """Merges of n rows by falling probability.

    Shapes: left, right (m,) a row of either side, probability (m,) float64; n: number of rows.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    probability: NDArray[np.float64]
    n: int

    def cut(self, probability: float) -> NDArray[np.int32]:
        """Return the lowest row of the cluster of each row (n,), after all merges of at least this probability.

        >>> Tree(np.array([0, 2]), np.array([1, 1]), np.array([0.9, 0.2]), 3).cut(0.5)
        array([0, 0, 2], dtype=int32)
        """
        count = int(np.searchsorted(-self.probability, -probability, side="right"))
        return connected(self.n, self.left[:count], self.right[:count])

    def limited(self, most: int) -> Tree:
        """Return the tree without the merges, first to last, that would make a cluster of more than `most` rows.

        >>> Tree(np.array([0, 2, 3]), np.array([1, 1, 2]), np.array([0.9, 0.8, 0.7]), 4).limited(2)[:2]
        (array([0, 3]), array([1, 2]))
        """
        kept = _within(self.left.astype(np.int32), self.right.astype(np.int32), self.n, most)
        return Tree(self.left[kept], self.right[kept], self.probability[kept], self.n)


def height_of_cut(inside: Merges, between: Merges) -> float:
    """Return s_0: of all merges as many are more similar as there are inside clusters.

    >>> none = np.array([], dtype=int)
    >>> height_of_cut(Merges(none, none, np.array([0.75])), Merges(none, none, np.array([0.25])))
    0.5
    """
    both = np.sort(np.concatenate([inside.similarity, between.similarity]).astype(np.float64))[::-1]
    count = len(inside.similarity)
    if len(both) == 0:
        return 0.0
    above, under = both[max(count - 1, 0)], both[min(count, len(both) - 1)]
    return float((above + under) / 2)


def tree_of(
    inside: Merges,
    between: Merges,
    rows: NDArray[np.int64],
    known: tuple[NDArray[np.int64], NDArray[np.int64]],
    per_unit: float,
    n: int,
) -> Tree:
    """Return the tree of n rows from the merges of distinct ones.

    Parameters
    ----------
    inside, between : merges of the distinct rows, those that build the chosen clusters and those that go on.
    rows : (m,) the row of each distinct one.
    known : rows that are together, as two lists of their ends.
    per_unit : steepness / spread.
    """
    middle = height_of_cut(inside, between)
    p_inside, p_between = (_sigmoid(per_unit * (merges.similarity - middle)) for merges in (inside, between))
    return Tree(
        np.concatenate([known[0], rows[inside.left], rows[between.left]]).astype(np.int32),
        np.concatenate([known[1], rows[inside.right], rows[between.right]]).astype(np.int32),
        np.concatenate([np.ones(len(known[0])), np.maximum(p_inside, 0.5), np.minimum(p_between, UNDER_EVEN)]),
        n,
    )


def _sigmoid(odds: NDArray[np.floating]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(odds.astype(np.float64), -500, 500)))


@kernel()
def _within(left: NDArray[np.int32], right: NDArray[np.int32], n: int, most: int) -> NDArray[np.bool_]:
    parent, size = np.arange(n).astype(np.int32), np.ones(n, np.int64)
    kept = np.zeros(len(left), np.bool_)
    for merge in range(len(left)):
        a, b = find(parent, left[merge]), find(parent, right[merge])
        if a != b and size[a] + size[b] <= most:
            parent[b] = a
            size[a] += size[b]
            kept[merge] = True
    return kept
