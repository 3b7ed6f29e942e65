r"""FC-ES: edges that common neighbours support, walked until the first that is not, then Infomap (Liu 2024).

    P_ij = exp(-d_ij / 0.5) / sum over the neighbours m of i of exp(-d_im / 0.5),      d_ij = 2 - 2 max(0, cos(i, j))
    evidence of an edge i - j  =  1/2 sum over common neighbours m of (P_im + P_jm)

A row is the first of its own 80 neighbours. Along the neighbours of a row by falling cosine, edges are kept up to the
first with an evidence below 0.22. Two-level Infomap on the kept edges, directed and weighted by evidence, gives the
clusters; rows without an edge are alone. Written from arXiv 2408.13431 and the settings of its program.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk.neighbors import knn_graph

TEMPERATURE, LEAST_EVIDENCE, NEIGHBORS = 0.5, 0.22, 80  # those of the paper


def fc_es(X: NDArray[np.float32], k: int = NEIGHBORS) -> NDArray[np.int64]:
    """Return the cluster of each row, (n,); k counts the row itself.

    >>> len(set(fc_es(np.eye(3, dtype=np.float32).repeat(4, axis=0), k=4).tolist()))
    3
    """
    g = knn_graph(X, min(k, len(X)) - 1, show_progress=False)
    rows = np.arange(len(g), dtype=np.int32)[:, None]
    indices = np.hstack([rows, np.asarray(g.indices, dtype=np.int32)])
    cosines = np.hstack([np.ones((len(g), 1)), np.clip(g.similarities, 0, 1).astype(np.float64)])
    P = np.exp((2 * cosines - 2) / TEMPERATURE)
    evidence = kept_evidence(indices, P / P.sum(axis=1, keepdims=True), LEAST_EVIDENCE)
    start, place = np.nonzero(evidence)
    return by_infomap(len(g), start, indices[start, place], evidence[start, place])


def by_infomap(
    n: int, start: NDArray[np.int64], end: NDArray[np.int32], weight: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the module of each of n rows by its directed links (m,); rows without a link are alone."""
    from infomap import Infomap

    labels = np.arange(n, 2 * n)  # above all module numbers
    if len(start):
        program = Infomap(two_level=True, directed=True, silent=True, seed=1)
        program.add_links(np.stack([start, end, weight], axis=1))
        for node, module in program.run().modules().items():
            labels[node] = module
    return labels


@kernel()
def kept_evidence(indices: NDArray[np.int32], P: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Return the evidence of the kept edges, 0 for the others and for the row itself: (n, k), as both inputs."""
    n, width = indices.shape
    evidence, mine = np.zeros((n, width)), np.full(n, -1.0)
    for i in range(n):
        for a in range(width):
            mine[indices[i, a]] = P[i, a]
        for a in range(1, width):
            j, total = indices[i, a], 0.0
            for b in range(width):
                if mine[indices[j, b]] >= 0:
                    total += mine[indices[j, b]] + P[j, b]
            if total / 2 < least:
                break
            evidence[i, a] = total / 2
        for a in range(width):
            mine[indices[i, a]] = -1.0
    return evidence
