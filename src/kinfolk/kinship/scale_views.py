r"""What a neighbour graph shows without labels at each of several k: what the choice of k is learned from.

For a sample of rows i, each k of the grid and the edges to j in N_2k(i), with p_ij from the kinship network at k:

    kin(i)     = sum p_ij / k                      how many kin, in units of k
    purity(i)  = sum p_ij^2 / sum p_ij             how sure the network is of them
    mutual(i)  = share of j in N_k(i) that have i among their k nearest
    kept(i)    = mean of p_ij over j in N_2l(i), weighted by p_ij at l, a scale at least about four times smaller
    joined(i)  = the same weighted by 1 - p_ij at l, l = k / 4: strangers there that are kin here

Their means over the rows, how kin differs between rows, and how all this changes around k. Nearly everything is
relative to k and to the scales next to it, so that small generated sets with small classes show what large sets with
large classes do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinfolk.kinship.edge_probabilities import ProbabilityBlock, probability_blocks
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.neighbors import NeighborGraph

SAMPLE_ROWS = 400  # the mean kin count over so many rows has a standard error below 0.05
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
KIN, PURITY, MUTUAL, JOINED = 0, 1, 2, 4  # columns of the means
SEEN = 5  # numbers a row and scale
STEPS = (-4, -2, -1, 1, 2, 4)  # positions on the grid, each a factor of about 1.4
AROUND = 6  # the same: how far peaks and valleys are looked for
INPUTS = 37


def views_of_scales(net: KinshipNetwork, g: NeighborGraph, ks: Sequence[int], seed: int = 0) -> NDArray[np.float32]:
    """Return what is seen at each k: (ks, INPUTS); the first column is the kin count c(k).

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(kf.datasets.digits(), k=40)
    >>> views_of_scales(KinshipNetwork.shipped(), g, [10, 20]).shape
    (2, 37)
    """
    rows = np.sort(np.random.default_rng(seed).permutation(len(g))[:SAMPLE_ROWS])
    seen = np.concatenate([_of_rows(ks, block) for block in probability_blocks(net, g, ks, rows)])
    means = seen.mean(axis=0)
    kin = seen[:, :, KIN]
    spread = np.column_stack([kin.std(axis=0), *np.quantile(kin, QUANTILES, axis=0)])
    low, middle, high = spread[:, 1], spread[:, 3], spread[:, 5]
    count = means[:, KIN]
    columns = [means, spread, *(_change(count, step) for step in STEPS), *_limited(ks, len(g))]
    columns += [_change(means[:, a], step) for a in (MUTUAL, JOINED) for step in (-2, 2)]
    columns += [_change(values, -2) for values in (means[:, PURITY], low, high, middle)]
    columns += [*_extremes(count, AROUND), *_extremes(count, len(ks))]
    columns += [np.log(ks) - np.log(ks[int(count.argmax())]), np.full(len(ks), count.max())]
    return np.column_stack(columns).astype(np.float32)


def _of_rows(ks: Sequence[int], block: ProbabilityBlock) -> NDArray[np.float64]:
    """Return kin, purity, mutual, kept and joined of each row at each k: (rows, ks, SEEN)."""
    ps = [np.exp(log_p) for log_p in block.log_p]
    seen = np.empty((len(block.rows), len(ks), SEEN))
    for a, (k, p) in enumerate(zip(ks, ps, strict=True)):
        # the grid grows by factors of 4/3 and 3/2: a little less than a quarter stands for it
        smaller = ps[max((b for b in range(a) if 4 * ks[b] <= 1.2 * k), default=0)]
        both = p[:, : smaller.shape[1]]
        mutual = block.reciprocal[a][:, :k].mean(axis=1)
        measured = p.sum(axis=1) / k, _mean(p, p), mutual, _mean(both, smaller), _mean(both, 1 - smaller)
        seen[:, a] = np.column_stack(measured)
    return seen


def _mean(values: NDArray[np.floating], weights: NDArray[np.floating]) -> NDArray[np.floating]:
    return (values * weights).sum(axis=1) / (weights.sum(axis=1) + 1e-9)


def _change(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Return how far the value so many positions on, or the last there is, lies above each value."""
    return values[np.clip(np.arange(len(values)) + step, 0, len(values) - 1)] - values


def _extremes(values: NDArray[np.float64], reach: int) -> list[NDArray[np.float64]]:
    """Return how far the most and the least of so many values before, and of those behind, lie above each value."""
    before = [values[max(0, a - reach) : a + 1] for a in range(len(values))]
    behind = [values[a : a + reach + 1] for a in range(len(values))]
    return [np.array([f(part) for part in side]) - values for side in (before, behind) for f in (np.max, np.min)]


def _limited(ks: Sequence[int], n: int) -> list[NDArray[np.float64]]:
    """Return log k up to k = 8 and log n / k up to 30: beyond, only what is relative counts."""
    log_k = np.log(ks)
    return [np.minimum(log_k, np.log(8)), np.minimum(np.log(n) - log_k, np.log(30))]
