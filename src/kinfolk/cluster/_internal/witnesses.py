"""Two other methods, which err in other ways than trees do: whom they agree with is likelier right.

    G-cut by the map equation       components, wherever their gaps are
    HDBSCAN                         dense regions

Neither is good everywhere. A candidate i is supported by the one that agrees with it best,

    support_i = max over w of  F(i, w) (1 - t_w),     t_w = the larger of F(w, all alone) and F(w, one cluster)

so that a witness that found next to nothing, or everything in one, has little to say. Support is added to what the
judge predicts as it is; it was weighed on the training parts of real sets. As facts from which the judge learns, these
and groups of the kinship graph cost 3 points there: generated sets do not show when to believe them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.threads import deal
from kinfolk.cluster._internal.candidates import RAW, Candidate, agreement
from kinfolk.cluster._internal.spaces import Spaces
from kinfolk.cluster.gcut import GCut
from kinfolk.cluster.hdbscan import HDBSCAN

NEIGHBORS = 80  # that both read, as by themselves
METHODS = (GCut, HDBSCAN)


def witnesses_of(spaces: Spaces) -> list[Candidate]:
    """Return the clusterings (n,) of both; a row that one of them leaves out is alone there."""
    g = spaces.graph.restrict(min(NEIGHBORS, spaces.graph.k))
    found = deal(lambda method: method(k=g.k).fit_predict(g), METHODS)
    return [Candidate(_all_in_clusters(labels), RAW) for labels in found]


def support(candidates: list[Candidate], witnesses: list[Candidate]) -> NDArray[np.float32]:
    """Return the support of each candidate, (c,), from 0 to 1.

    >>> pairs, alone = Candidate(np.array([0, 0, 1, 1]), RAW), Candidate(np.arange(4), RAW)
    >>> support([pairs], [pairs]).round(2), support([alone], [alone])
    (array([0.42], dtype=float32), array([0.], dtype=float32))
    """
    n = len(witnesses[0].labels)
    trivial = [Candidate(np.arange(n), RAW), Candidate(np.zeros(n, dtype=np.int64), RAW)]
    found = 1 - agreement(trivial, witnesses).max(axis=0)
    return np.asarray((agreement(candidates, witnesses) * found).max(axis=1))


def _all_in_clusters(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return labels (n,) numbered 0, 1, 2, ..., with a cluster of its own for each row that has none.

    >>> _all_in_clusters(np.array([0, -1, 0, -1])).tolist()
    [2, 0, 2, 1]
    """
    alone = np.flatnonzero(labels < 0)
    own = np.array(labels, dtype=np.int64)
    own[alone] = -1 - np.arange(len(alone))[::-1]
    return np.unique(own, return_inverse=True)[1].astype(np.int64, copy=False)
