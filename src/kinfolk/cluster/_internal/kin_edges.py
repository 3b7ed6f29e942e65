r"""What the tests of edges say of a clustering: how many of the likely kin it keeps together, and whom else.

Over some rows i and their first 2 s neighbours j, at scales s = k and 2 k, with the probability p_ij that both are kin:

    kept_s = sum p_ij [c_i = c_j] / sum p_ij,        pure_s = sum p_ij [c_i = c_j] / sum [c_i = c_j]

k is that of the features, about the size of a class or, on uneven sets, below it. Where clusters are much larger than
that, neighbours beyond the window are not seen, and both numbers say little; the size of clusters over k says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.edge_probabilities import probability_blocks
from kinfolk.kinship.edge_tests import WINDOW
from kinfolk.neighbors import NeighborGraph

if TYPE_CHECKING:
    from kinfolk.cluster._internal.candidates import Candidate

SAMPLE_ROWS = 1500
SCALES = (1, 2)  # times k
COUNT = 2 * len(SCALES) + 2


class KinEdges(NamedTuple):
    """The sampled rows (r,), their first w neighbours (r, w), p (scales, r, w), 0 beyond 2 s; and k."""

    rows: NDArray[np.int64]
    indices: NDArray[np.int32]
    p: NDArray[np.float32]
    k: int

    def describe(self, candidates: list[Candidate]) -> NDArray[np.float32]:
        """Return for each candidate, (c, 6): kept and pure at each scale, log of cluster size over k, kin over k.

        The size of clusters is the geometric mean over the rows, the kin are those among the 2 k nearest.
        """
        together = np.empty((len(candidates), len(SCALES), 2))

        def sum_up(place: int) -> None:
            _sums(candidates[place].labels, self.rows, self.indices, self.p, together[place])

        deal(sum_up, range(len(candidates)))
        kin, edges = together[..., 0], together[..., 1]
        all_kin = self.p.sum(axis=(1, 2), dtype=np.float64)
        kept = kin / np.maximum(all_kin, 1e-9)
        pure = np.where(edges > 0, kin / np.maximum(edges, 1), 1)
        size = [np.log(np.bincount(c.labels)[c.labels]).mean() - np.log(self.k) for c in candidates]
        kin_over_k = np.full(len(candidates), all_kin[0] / (len(self.rows) * self.k))
        return np.column_stack([kept, pure, size, kin_over_k]).astype(np.float32)


def kin_edges(g: NeighborGraph, k: int) -> KinEdges:
    """Return what a sample of the rows of a graph knows of its kin.

    >>> import kinfolk as kf
    >>> edges = kin_edges(kf.knn_graph(kf.datasets.digits(), k=40), 10)
    >>> edges.indices.shape, edges.p.shape
    ((1500, 40), (2, 1500, 40))
    """
    rows = np.sort(np.random.default_rng(0).permutation(len(g))[:SAMPLE_ROWS])
    ks = [max(1, min(scale * k, g.k // WINDOW)) for scale in SCALES]
    width = min(WINDOW * ks[-1], g.k)
    p = np.zeros((len(ks), len(rows), width), dtype=np.float32)
    start = 0
    for block in probability_blocks(KinshipNetwork.shipped(), g, ks, rows):
        for scale, log_p in enumerate(block.log_p):
            p[scale, start : start + len(log_p), : log_p.shape[1]] = np.exp(log_p)
        start += len(block.rows)
    return KinEdges(rows, np.ascontiguousarray(g.indices[rows, :width], dtype=np.int32), p, k)


@kernel()
def _sums(
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    indices: NDArray[np.int32],
    p: NDArray[np.float32],
    result: NDArray[np.float64],
) -> None:
    """Write, for each scale, the sum of p over the edges inside of clusters, and the number of these edges."""
    result[:] = 0
    for a in range(len(rows)):
        own = labels[rows[a]]
        for b in range(indices.shape[1]):
            if labels[indices[a, b]] == own:
                for scale in range(len(p)):
                    if p[scale, a, b] > 0:
                        result[scale, 0] += p[scale, a, b]
                        result[scale, 1] += 1
