"""Sums and means of clusters, in one pass over the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel


def mean_directions(Z: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the sum of the rows of each cluster, or the cluster's first row where they cancel.

    Shapes: Z (n, d), labels (n,) from 0 on without gaps  ->  (clusters, d), not of length one.

    >>> mean_directions(np.array([[1, 0], [-1, 0], [0, 1]], dtype=np.float32), np.array([0, 0, 1])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sums = np.add.reduceat(Z[order], starts, axis=0, dtype=np.float32)
    return np.where(sums.any(axis=1, keepdims=True), sums, Z[order[starts]])


def sums_of(X: NDArray[np.float32], labels: NDArray[np.integer], count: int) -> NDArray[np.float32]:
    """Return the sum of the rows (n, d) of each of `count` clusters (n,), numbered 0, 1, 2, ...: (count, d).

    >>> sums_of(np.array([[1, 0], [0, 2], [3, 0]], dtype=np.float32), np.array([1, 0, 1]), 2).tolist()
    [[0.0, 2.0], [4.0, 0.0]]
    """
    sums = np.zeros((count, X.shape[1]), dtype=np.float32)
    _add_rows(np.ascontiguousarray(X), np.asarray(labels, dtype=np.int64), sums)
    return sums


@kernel()
def _add_rows(X: NDArray[np.float32], labels: NDArray[np.int64], sums: NDArray[np.float32]) -> None:
    for i in range(len(X)):
        for column in range(X.shape[1]):
            sums[labels[i], column] += X[i, column]
