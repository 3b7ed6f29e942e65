"""The graph without unlikely edges: those whose Sim-M stays below a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kinfolk._core.checks import check_number
from kinfolk.metrics import edge_noise_rate
from kinfolk.metrics._labels import numbered
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity.closure import closure_drop, warn_if_k_is_large
from kinfolk.similarity.sim_m import sim_m

# `auto_threshold`: chosen on the training parts of the real sets and on generated data, k from 10 to 80
# (docs/similarity.md)
BASE_SHARE = 0.26  # share of the candidates that must pass
FEWER_OVER_K = 0.5  # less of them where k is small
MORE_PER_DROP = 2.25  # more of them where the closure drops
LOWEST_DROP = -0.02  # drops below this, of a closure that rises, count as this
SMALLEST_SHARE, LARGEST_SHARE = 0.05, 0.9  # the share is kept between them, on any graph


@dataclass(frozen=True, eq=False, repr=False)
class Pruned:
    """A graph without its unlikely edges.

    Attributes
    ----------
    graph : (n, n) sparse, the kept edges with their Sim-M.
    scores : (n, k) float32, Sim-M of every edge.
    keep : (n, k) bool, which edges are kept.
    threshold : of the Sim-M.
    noise_before, noise_after : edge noise rate of all edges and of the kept ones, None without labels.
    """

    graph: sparse.csr_array
    scores: NDArray[np.float32]
    keep: NDArray[np.bool_]
    threshold: float
    noise_before: float | None = None
    noise_after: float | None = None

    def __repr__(self) -> str:
        noise = ""
        if self.noise_before is not None and self.noise_after is not None:
            noise = f", noise {self.noise_before:.1%} -> {self.noise_after:.1%}"
        return f"Pruned(kept {self.keep.sum():,} of {self.keep.size:,} edges, threshold {self.threshold:.3f}{noise})"


def prune(g: NeighborGraph, threshold: float | Literal["auto"] = "auto", *, y: ArrayLike | None = None) -> Pruned:
    """Return the graph of the edges whose Sim-M reaches the threshold.

    Parameters
    ----------
    g : a NeighborGraph (n, k).
    threshold : a number, or "auto": chosen from the graph alone (`auto_threshold`). Where there are labels,
        `kf.theory.labelled_threshold` gives the number that the theory expects to separate both kinds of edges.
    y : labels (n,), numbers or texts, for the edge noise rates before and after; they do not change the threshold.

    Returns
    -------
    Pruned

    Warns
    -----
    TooManyNeighborsWarning
        If k looks larger than the classes.

    Examples
    --------
    >>> import kinfolk as kf
    >>> digits = kf.datasets.digits()
    >>> cleaner = kf.prune(kf.knn_graph(digits, k=40), y=digits.labels)
    >>> cleaner.noise_after < cleaner.noise_before
    True
    """
    check_number("threshold", threshold, auto=True)
    scores = sim_m(g)
    warn_if_k_is_large(g)
    cut = auto_threshold(g) if threshold == "auto" else float(threshold)
    keep = scores >= cut
    rows = np.repeat(np.arange(len(g)), keep.sum(axis=1))
    graph = sparse.csr_array((scores[keep], (rows, np.asarray(g.indices)[keep])), shape=(len(g), len(g)))
    if y is None:
        return Pruned(graph, scores, keep, cut)
    labels = numbered(y, len(g))
    before = edge_noise_rate(g, labels)
    same = (labels[g.indices] == labels[:, None]) & (labels[:, None] >= 0)
    return Pruned(graph, scores, keep, cut, before, float((keep & ~same).sum() / max(keep.sum(), 1)))


def auto_threshold(g: NeighborGraph) -> float:
    r"""Return a Sim-M threshold for the edges of a graph, from the graph alone.

    S_t = mean(s^2) (0.26 - 0.5 / k + 2.25 max(closure(k/2) - closure(k), -0.02)),   the factor kept in [0.05, 0.9]

    mean(s^2) over the edges is about the Sim-M of a pair whose candidates all pass; the factor is the share of them
    that must. A quarter is enough while neighbourhoods become more closed with k; more is needed where k is larger than
    the classes. docs/similarity.md shows how far the F-score of the kept edges lies below that of the best threshold
    with labels.

    Parameters
    ----------
    g : a NeighborGraph.

    Returns
    -------
    float

    Examples
    --------
    >>> import kinfolk as kf
    >>> 0.1 < auto_threshold(kf.knn_graph(kf.datasets.digits(), k=20)) < 0.3
    True
    """
    share = BASE_SHARE - FEWER_OVER_K / g.k + MORE_PER_DROP * max(closure_drop(g), LOWEST_DROP)
    squares = np.square(np.maximum(g.similarities, 0), dtype=np.float64)
    return float(np.clip(share, SMALLEST_SHARE, LARGEST_SHARE) * squares.mean())
