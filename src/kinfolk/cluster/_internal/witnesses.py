"""Clusterings by other methods, which err in other ways than trees do: whom they agree with is likelier right.

    groups of the kinship graph at k = 8, 16, 32, 64        communities of one size
    G-cut by the map equation, of the rows and enhanced     components, wherever their gaps are
    HDBSCAN                                                 dense regions

None of them is good everywhere, and none has to be: the judge learns from generated sets when which of them is right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.threads import deal
from kinfolk.cluster._internal.candidates import Candidate
from kinfolk.cluster._internal.kinship_groups import kinship_groups
from kinfolk.cluster._internal.spaces import Spaces
from kinfolk.cluster.gcut import GCut
from kinfolk.cluster.hdbscan import HDBSCAN
from kinfolk.kinship.edge_tests import WINDOW
from kinfolk.neighbors import NeighborGraph

GROUP_SIZES = (8, 16, 32, 64)  # k of the kinship groups
NEIGHBORS = 80  # that G-cut and HDBSCAN read, as by themselves
COUNT = len(GROUP_SIZES) + 3


def witnesses_of(spaces: Spaces, seed: int) -> list[Candidate]:
    """Return the clusterings (n,) of all witnesses; a row that one of them leaves out is alone there."""
    plain, enhanced = spaces.graph.restrict(min(NEIGHBORS, spaces.graph.k)), spaces.nearest(NEIGHBORS)
    most = max(1, enhanced.k // WINDOW)

    def groups(k: int) -> NDArray[np.integer]:
        k = min(k, most)
        return kinship_groups(spaces.nearest(WINDOW * k), k, seed)

    def by(method: GCut | HDBSCAN, g: NeighborGraph) -> NDArray[np.integer]:
        return method.set_params(k=g.k).fit_predict(g)

    tasks: list[Callable[[], NDArray[np.integer]]] = [partial(groups, k) for k in GROUP_SIZES]
    tasks += [partial(by, GCut(), plain), partial(by, GCut(), enhanced), partial(by, HDBSCAN(), plain)]
    return [Candidate(_all_in_clusters(labels), -1) for labels in deal(lambda task: task(), tasks)]


def _all_in_clusters(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return labels (n,) numbered 0, 1, 2, ..., with a cluster of its own for each row that has none.

    >>> _all_in_clusters(np.array([0, -1, 0, -1])).tolist()
    [2, 0, 2, 1]
    """
    alone = np.flatnonzero(labels < 0)
    own = np.array(labels, dtype=np.int64)
    own[alone] = -1 - np.arange(len(alone))[::-1]
    return np.unique(own, return_inverse=True)[1].astype(np.int64, copy=False)
