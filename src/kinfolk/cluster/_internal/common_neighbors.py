"""Common neighbours of pairs of rows, in graphs whose rows differ in their number of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kinfolk.similarity import sim_m


def common_neighbors(graph: csr_array, pairs: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return |N_i and N_j| for pairs (p, 2) of rows of a graph (n, n): (p,). The values of the graph are ignored.

    Cost: for each pair the neighbours of one row; memory n floats for each thread.

    >>> graph = csr_array(np.array([[0, 1, 1], [1, 0, 1], [1, 0, 0]]))
    >>> common_neighbors(graph, np.array([[0, 1], [1, 2]]))
    array([1., 1.], dtype=float32)
    """
    unweighted = csr_array((np.ones(graph.nnz, np.float32), graph.indices, graph.indptr), shape=graph.shape)
    share = sim_m(unweighted, tests="binary", threshold=0.5, candidates="neighbors", pairs=pairs)  # type: ignore[call-overload]
    degrees = np.diff(graph.indptr)
    return np.rint(share * np.maximum(degrees[pairs[:, 0]], degrees[pairs[:, 1]])).astype(np.float32)
