"""The multi-query protocol of re-identification."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.rows import of_length_one
from kinfolk.features import Matrix, unit_rows
from kinfolk.metrics._labels import numbered
from kinfolk.metrics.reid import numbered_cameras


class PooledQueries(NamedTuple):
    """One query for each identity and camera: features (m, d) of length one, labels (m,), cameras (m,)."""

    features: NDArray[np.float32]
    labels: NDArray[Any]
    cameras: NDArray[Any]


def pool_queries(query: Matrix, labels: ArrayLike, cameras: ArrayLike) -> PooledQueries:
    """Return the queries of the multi-query protocol: the mean of the queries of one identity and camera is one query.

    Parameters
    ----------
    query : (n, d) features; their directions are averaged.
    labels : (n,) identities; rows below zero, or with an empty text, are left out.
    cameras : (n,)

    Returns
    -------
    PooledQueries(features, labels, cameras), sorted by identity, then camera.

    Examples
    --------
    >>> pooled = pool_queries(np.array([[1.0, 0], [0, 1], [1, 0]]), [5, 5, 6], [1, 1, 1])
    >>> pooled.labels.tolist(), pooled.features.round(2).tolist()
    ([5, 6], [[0.7099999785423279, 0.7099999785423279], [1.0, 0.0]])
    """
    unit = unit_rows(query)
    identities, taken_by = np.asarray(labels), np.asarray(cameras)
    classes = numbered(identities, len(unit))
    known = np.flatnonzero(classes >= 0)
    pairs = np.stack([classes, numbered_cameras(taken_by, taken_by, len(unit), len(unit))[0]], axis=1)[known]
    _, first, pool = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    first = known[first]
    sums = np.zeros((len(first), unit.shape[1]), dtype=np.float32)
    np.add.at(sums, pool.ravel(), unit[known])
    return PooledQueries(of_length_one(sums, instead=unit[first]), identities[first], taken_by[first])
