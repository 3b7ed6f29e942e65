r"""The groups of the kinship graph at a given k.

p_ij: the probability that i and j belong together, by many tests in units of k (`kinfolk.kinship`), the mean over
both directions of an edge;     groups: the best partition by sums of p_ij - 1/2 (`kinfolk.cluster._internal.potts`)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kinfolk.cluster._internal.potts import group_by_potts
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.edge_probabilities import UNLIKELY, probability_blocks
from kinfolk.kinship.edge_tests import WINDOW
from kinfolk.neighbors import NeighborGraph

LARGEST_K = 120  # windows of 240: larger classes are found by trees
EVEN_ODDS = 0.5
SHARE_OF_SIZE = 0.7  # classes differ in size, and one k serves all; half and whole are level on the training parts


def k_around(labels: NDArray[np.integer], n_neighbors: int) -> int:
    """Return the k at which groups are tried, once clusters (n,) of about the right size are known.

    The size of a cluster is the geometric mean over the rows.

    >>> k_around(np.repeat(np.arange(9), 20), 100)
    14
    """
    size = float(np.exp(np.log(np.bincount(labels)[labels]).mean()))
    most = max(1, min(LARGEST_K, n_neighbors // WINDOW))
    return int(np.clip(round(SHARE_OF_SIZE * size), min(2, most), most))


def kinship_groups(
    g: NeighborGraph, k: int, seed: int, together: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Return the groups (n,), numbered 0, 1, 2, ..., of a graph with at least 2 k neighbours.

    together: (n,) numbers 0, 1, 2, ...; rows with the same one are grouped as one.
    """
    one_way = _edges(g, k)
    p = csr_array((one_way + one_way.T) * np.float32(0.5))
    labels = group_by_potts(p, EVEN_ODDS, seed, together=together)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64, copy=False)


def _edges(g: NeighborGraph, k: int) -> csr_array:
    """Return p of each row's edges (n, n), without edges that are very unlikely."""
    values, targets, counts = [], [], []
    for block in probability_blocks(KinshipNetwork.shipped(), g, [k]):
        p = np.exp(block.log_p[0])
        likely = p > UNLIKELY
        values.append(p[likely])
        targets.append(np.asarray(g.indices[block.rows, : p.shape[1]])[likely])
        counts.append(likely.sum(axis=1))
    starts = np.append(0, np.cumsum(np.concatenate(counts)))
    return csr_array((np.concatenate(values), np.concatenate(targets), starts), shape=(len(g), len(g)))
