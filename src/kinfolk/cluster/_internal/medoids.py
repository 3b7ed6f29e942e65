"""The row in the middle of each cluster, without a matrix of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kinfolk._core.rows import blocks
from kinfolk.features import Matrix, as_matrix, unit_rows

ROUNDING = 1e-6  # of the cosines of float32 rows: the two rows of a pair are equally near to their mean


def medoids(labels: NDArray[np.integer], X: Matrix) -> NDArray[np.bool_]:
    """Return True for the row of each cluster that is nearest to its mean direction, the first of equal ones.

    Shapes: labels (n,) clusters, below zero for noise; X (n, d)  ->  (n,). A noise row is in the middle of its own.
    Memory: the mean of each cluster of two rows or more, and the cosine of each row.

    >>> medoids(np.array([0, 0, 0, -1]), np.array([[1, 0.0], [1, 0.4], [1, 1.0], [0, 1.0]])).tolist()
    [False, True, False, True]
    """
    matrix = as_matrix(X)
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    alone = (sizes[numbers] == 1) | (labels < 0)
    _, joined = np.unique(numbers[~alone], return_inverse=True)
    own = np.full(len(labels), -1, dtype=np.int64)
    own[~alone] = joined
    sums = cluster_sums(own, matrix)
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    cosine = _cosines(own, matrix, sums / lengths)
    best = np.full(len(sums), -np.inf)
    np.maximum.at(best, own[~alone], cosine[~alone])
    near = np.flatnonzero(~alone)
    near = near[cosine[near] >= best[own[near]] - ROUNDING]
    result = alone.copy()
    result[near[np.unique(own[near], return_index=True)[1]]] = True
    return result


def _cosines(labels: NDArray[np.int64], matrix: NDArray[Any], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of each row to the direction of its cluster, read block by block; 0 without a cluster."""
    cosine = np.zeros(len(labels))
    for start, block in blocks(matrix):
        rows = np.flatnonzero(labels[start : start + len(block)] >= 0)
        if len(rows):
            cosine[start + rows] = np.einsum("ij,ij->i", unit_rows(block[rows]), directions[labels[start + rows]])
    return cosine


def cluster_sums(labels: NDArray[np.int64], matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum of the rows of length one of each cluster from 0 on, read block by block; below zero is left out.

    >>> cluster_sums(np.array([1, 0, 1, -1]), np.array([[2.0, 0], [0, 3], [0, 1], [1, 1]])).tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    sums = np.zeros((int(labels.max(initial=-1)) + 1, matrix.shape[1]), dtype=np.float64)
    for start, block in blocks(matrix):
        own = labels[start : start + len(block)]
        rows = np.flatnonzero(own >= 0)
        if len(rows):
            members = csr_array((np.ones(len(rows)), (own[rows], rows)), shape=(len(sums), len(block)))
            sums += members @ unit_rows(block)
    return sums
