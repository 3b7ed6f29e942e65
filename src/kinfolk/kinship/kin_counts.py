r"""The kin count: how many of a row's 2 k nearest neighbours belong to it, in units of k, over k.

    c(k) = mean over rows i of sum over j in N_2k(i) of p_ij / k

The curve shows the size of the classes without labels. It stays near 2 while the 2 k nearest fit into a class and
falls beyond. Where classes come in families of look-alikes it rises once more and falls beyond the family.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kinfolk.kinship.edge_probabilities import probability_blocks
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.neighbors import NeighborGraph

SAMPLE_ROWS = 1500  # the mean over so many rows has a standard error below 0.03


def kin_counts(net: KinshipNetwork, g: NeighborGraph, ks: Sequence[int], seed: int = 0) -> NDArray[np.float64]:
    """Return c(k) for each k, from a sample of the rows.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(kf.datasets.digits(), k=40)
    >>> kin_counts(KinshipNetwork.shipped(), g, [10, 20]).shape
    (2,)
    """
    rows = np.sort(np.random.default_rng(seed).permutation(len(g))[:SAMPLE_ROWS])
    kin = np.zeros(len(ks))
    for block in probability_blocks(net, g, ks, rows):
        kin += [np.exp(log_p).sum(dtype=np.float64) for log_p in block.log_p]
    return kin / (len(rows) * np.asarray(ks))
