r"""The probability that the two ends of an edge belong together, for the edges of a neighbour graph.

The network reads tests in units of some k (`probability_blocks`). A class is seldom exactly of that size, and k is an
estimate, so results average over scales around k:

    p_ij = mean over s in (0.6 k, 1.2 k) of p^(s)_ij,     over the 2 s nearest neighbours of i
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from kinfolk.kinship.edge_tests import WINDOW, edge_tests_at
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.neighbors import NeighborGraph

SCALES_AROUND_K = (0.6, 1.2)  # of k
UNLIKELY = 0.02  # edges of a lower probability are left out of the graph: they hardly move a sum of p - 1/2
BLOCK_EDGES = 1 << 20  # 52 bytes each while they are tested


class ProbabilityBlock(NamedTuple):
    """Some rows (b,), and for each k log p of their first w edges (b, w) and which are reciprocal within k (b, w)."""

    rows: NDArray[np.integer]
    log_p: list[NDArray[np.float32]]
    reciprocal: list[NDArray[np.bool_]]


def scales_around(k: int) -> list[int]:
    """Return the scales around k at which edges are tested.

    >>> scales_around(20), scales_around(1)
    ([12, 24], [1, 1])
    """
    return [max(1, round(share * k)) for share in SCALES_AROUND_K]


def window_of(k: int) -> int:
    """Return how many neighbours of a row are looked at for this k.

    >>> window_of(20)
    48
    """
    return WINDOW * scales_around(k)[-1]


def probability_blocks(
    net: KinshipNetwork,
    g: NeighborGraph,
    ks: Sequence[int],
    rows: NDArray[np.integer] | None = None,
    queries: NeighborGraph | None = None,
) -> Iterator[ProbabilityBlock]:
    """Yield, block after block, log p of the first 2 k edges of the rows at each k.

    Parameters
    ----------
    queries : rows outside the graph g, with their neighbours in it; without it the rows are those of g.

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph(kf.datasets.digits(), k=40)
    >>> block = next(probability_blocks(KinshipNetwork.shipped(), g, [10, 20]))
    >>> [log_p.shape for log_p in block.log_p]
    [(1797, 20), (1797, 40)]
    """
    chosen = np.arange(len(g if queries is None else queries)) if rows is None else rows
    step = max(1, BLOCK_EDGES // sum(min(WINDOW * k, g.k) for k in ks))
    for start in range(0, len(chosen), step):
        block = chosen[start : start + step]
        tests = edge_tests_at(g, ks, rows=block, queries=queries)
        yield ProbabilityBlock(block, [net.log_probability(t.values) for t in tests], [t.reciprocal for t in tests])


def kin_graph(net: KinshipNetwork, g: NeighborGraph, k: int) -> csr_array:
    """Return the symmetric graph (n, n) of p_ij, the mean over both directions of an edge and the scales around k.

    Parameters
    ----------
    net : gives the probability of an edge from its tests.
    g : neighbours of all rows.
    k : neighbours that fit the classes (`choose_k`).

    Returns
    -------
    csr_array
        (n, n), without edges that are very unlikely.

    Examples
    --------
    >>> import kinfolk as kf
    >>> p = kin_graph(KinshipNetwork.shipped(), kf.knn_graph(kf.datasets.digits(), k=48), k=20)
    >>> p.shape, bool(0 < p.data.min() < p.data.max() <= 1)
    ((1797, 1797), True)
    """
    scales = [min(scale, g.k) for scale in scales_around(k)]
    one_way = vstack([_kin_rows(g, block) for block in probability_blocks(net, g, scales)], format="csr")
    return csr_array((one_way + one_way.T) * np.float32(0.5))


def _kin_rows(g: NeighborGraph, block: ProbabilityBlock) -> csr_array:
    p = np.zeros((len(block.rows), max(log_p.shape[1] for log_p in block.log_p)), dtype=np.float32)
    for log_p in block.log_p:
        p[:, : log_p.shape[1]] += np.exp(log_p) / len(block.log_p)
    likely = p > UNLIKELY
    starts = np.append(0, np.cumsum(likely.sum(axis=1)))
    targets = np.asarray(g.indices[block.rows, : p.shape[1]])[likely]
    return csr_array((p[likely], targets, starts), shape=(len(p), len(g)))
