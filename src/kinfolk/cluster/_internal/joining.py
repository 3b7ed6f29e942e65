"""The cluster that a new row joins: the one whose rows are most similar to it on average, if similar enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster._internal.views import Strangers, View, similarity_to_clusters
from kinfolk.features import UnitRows
from kinfolk.neighbors import knn_graph

NEIGHBORS = 64  # whose clusters are compared


def join(
    new: NDArray[np.float32], known: NDArray[np.float32], labels: NDArray[np.int64], least: float
) -> NDArray[np.int64]:
    """Return for new rows (m, d) of length one the cluster among those of known rows (n, d), or -1: (m,).

    labels: (n,) numbers from 0 on. least: the mean similarity to a cluster below which a row does not join it.

    >>> known = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> join(np.array([[0.6, 0.8], [0, -1]], dtype=np.float32), known, np.array([0, 0, 1]), 0.5)
    array([ 1, -1])
    """
    g = knn_graph(UnitRows(known), min(NEIGHBORS, len(known)), queries=UnitRows(new), show_progress=False)
    both = np.concatenate([known, new])
    everyone = np.concatenate([labels, np.arange(len(new)) + labels.max() + 1])  # a new row is alone: all are others
    rows = np.arange(len(known), len(both))
    strangers = Strangers(0.0, 1.0)  # similarities as they are
    view = View(both, rows, np.ascontiguousarray(g.indices, dtype=np.int32), g.similarities, strangers)
    _, similarity, cluster = similarity_to_clusters(view, everyone, np.bincount(everyone))
    return np.where(similarity >= least, cluster, -1)
