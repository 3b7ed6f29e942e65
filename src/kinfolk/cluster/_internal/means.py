"""Means of clusters: no pair of rows is ever looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def cluster_sums(Z: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return S_C, the sum of the rows of each cluster: Z (n, d), labels (n,) from 0 on without gaps -> (clusters, d).

    >>> cluster_sums(np.eye(3, dtype=np.float32), np.array([0, 1, 0])).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return np.add.reduceat(Z[order], starts, axis=0, dtype=np.float32)


def mean_directions(Z: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return a vector in the direction of each cluster's mean; the first row stands for rows that cancel.

    >>> mean_directions(np.array([[1, 0], [-1, 0], [0, 1]], dtype=np.float32), np.array([0, 0, 1])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    sums = cluster_sums(Z, labels)
    first = np.unique(labels, return_index=True)[1]
    return np.where(sums.any(axis=1, keepdims=True), sums, Z[first])
