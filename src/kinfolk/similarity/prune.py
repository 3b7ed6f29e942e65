"""The cleaner graph: edges that enough common candidates vouch for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kinfolk._core.errors import InputError
from kinfolk.metrics import edge_noise_rate
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity.closure import growth_of_strangers, warn_of_strangers
from kinfolk.similarity.sim_m import sim_m

# chosen on the training parts of the real sets and on generated data, k from 10 to 80 (docs/similarity.md)
BASE_SHARE, FEW_TESTS, STRANGERS, LEAST_GROWTH = 0.26, 0.5, 2.25, -0.02
SMALLEST_SHARE, LARGEST_SHARE = 0.05, 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Pruned:
    """A graph without the edges that Sim-M does not believe.

    Shapes: scores (n, k) Sim-M of every edge, keep (n, k) which stayed; graph (n, n) sparse, the edges that stayed with
    their Sim-M. The edge noise rates are there when labels were given; the later one is over the edges that stayed.
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
    threshold : a number, or "auto": chosen from the graph alone (`auto_threshold`). Where there are labels,
        `kf.theory.labelled_threshold` gives the number that the theory expects to separate both kinds of edges.
    y : labels, for the edge noise rate before and after.

    A TooManyNeighborsWarning says where k looks too large for the classes.

    Examples
    --------
    >>> import kinfolk as kf
    >>> digits = kf.datasets.digits()
    >>> cleaner = kf.prune(kf.knn_graph(digits, k=40), y=digits.labels)
    >>> cleaner.noise_after < cleaner.noise_before
    True
    """
    scores = sim_m(g)
    warn_of_strangers(g)
    cut = _cut(g, threshold)
    keep = scores >= cut
    rows = np.repeat(np.arange(len(g)), keep.sum(axis=1))
    graph = sparse.csr_array((scores[keep], (rows, np.asarray(g.indices)[keep])), shape=(len(g), len(g)))
    if y is None:
        return Pruned(graph, scores, keep, cut)
    labels = np.asarray(y)
    before = edge_noise_rate(g, labels)
    same = (labels[g.indices] == labels[:, None]) & (labels[:, None] >= 0)
    return Pruned(graph, scores, keep, cut, before, float((keep & ~same).sum() / max(keep.sum(), 1)))


def _cut(g: NeighborGraph, threshold: float | str) -> float:
    if threshold == "auto":
        return auto_threshold(g)
    if isinstance(threshold, str) or not np.isfinite(threshold):
        raise InputError(f"threshold must be a number or 'auto', not {threshold!r}")
    return float(threshold)


def auto_threshold(g: NeighborGraph) -> float:
    r"""Return a Sim-M threshold for the edges of a graph, from the graph alone.

    S_t = mean(s^2) (0.26 - 0.5 / k + 2.25 max(closure(k/2) - closure(k), -0.02)),   the factor kept in [0.05, 0.9]

    mean(s^2) over the edges is about what Sim-M is when every candidate vouches; the factor is the share of them that
    must. A quarter is enough while neighbourhoods become more closed with k, and more is asked where k outgrows the
    classes and strangers come in. docs/similarity.md shows how far the F-score of the kept edges lies below that of the
    best threshold with labels.

    >>> import kinfolk as kf
    >>> 0.1 < auto_threshold(kf.knn_graph(kf.datasets.digits(), k=20)) < 0.3
    True
    """
    share = BASE_SHARE - FEW_TESTS / g.k + STRANGERS * max(growth_of_strangers(g), LEAST_GROWTH)
    squares = np.square(np.maximum(g.similarities, 0), dtype=np.float64)
    return float(np.clip(share, SMALLEST_SHARE, LARGEST_SHARE) * squares.mean())
