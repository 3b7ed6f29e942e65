r"""The contingency table of classes and clusters, and the counts that every score of a clustering is a mean of.

n_ck: items of class c in cluster k;   a_c = sum_k n_ck: size of a class;   b_k = sum_c n_ck: size of a cluster
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk.metrics._labels import numbered

Values = NDArray[np.float64]


def contingency(y: ArrayLike, p: ArrayLike) -> sparse.csr_array:
    """Return how many items of each class are in each cluster.

    Parameters
    ----------
    y : (n,) true classes; items below zero, or with an empty text, are left out.
    p : (n,) clusters; each item below zero, or with an empty text, is a cluster of its own.

    Returns
    -------
    (classes, clusters) sparse int64. Rows are the known labels of `y` and columns those of `p`, in sorted order; items
    without a cluster come last, a column each. Time is linear in the items; memory: at most seven integers an item.

    Examples
    --------
    >>> contingency([5, 5, 8, 8], ["a", "b", "b", ""]).toarray()
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    classes, clusters = numbered(y), np.asarray(p)
    if clusters.shape != classes.shape:
        raise InputError(f"y and p must be one label an item each: {classes.shape} and {clusters.shape} do not agree")
    known = classes >= 0
    if not known.any():
        raise InputError("y holds no known class: there is nothing to score against")
    if not known.all():
        classes, clusters = classes[known], clusters[known]
    clusters = numbered(clusters)
    alone = np.flatnonzero(clusters < 0)
    clusters[alone] = clusters.max() + 1 + np.arange(len(alone))
    shape = int(classes.max()) + 1, int(clusters.max()) + 1
    ends = np.cumsum(np.bincount(classes, minlength=shape[0]))
    counts, columns, starts = _count_cells(classes, clusters, ends, shape[1])
    table = sparse.csr_array((counts, columns, starts), shape=shape)
    table.sort_indices()
    return table


class CellCounts(NamedTuple):
    """The counts that scores are made of, one number for each cell (c, k) of the table that is not empty.

    items: how many there are;  both: n_ck, items of the same class and cluster;  cluster: b_k;  cls: a_c;  all: N
    """

    items: Values
    both: Values
    cluster: Values
    cls: Values
    all: Values

    def sum(self, values: Values) -> float:
        """Add up a value of each cell over all items."""
        return float(np.sum(self.items * values))  # not a product of vectors: BLAS rounds by where they lie in memory

    def mean(self, values: Values) -> float:
        """Return the mean of a value of each cell over all items."""
        return self.sum(values) / float(self.items.sum())

    def take(self, cells: NDArray[np.bool_]) -> CellCounts:
        """Return the counts of some cells."""
        return CellCounts(*(column[cells] for column in self))


def cell_counts(table: sparse.csr_array, weights: Values | None = None) -> CellCounts:
    r"""Return the counts of each cell when class c has been drawn `weights[c]` times (once by default).

    Each of the w_c draws is a class of its own. Its items are compared with the other classes as often as those were
    drawn, but not with the other draws of the same class: those hold the same items, and counting them as another class
    would make a perfect clustering wrong.

    items = w_c n_ck   cluster = n_ck + sum over c' != c of w_c' n_c'k   all = a_c + sum over c' != c of w_c' a_c'

    >>> cell_counts(contingency([0, 0, 1], [0, 0, 0]), np.array([2.0, 3.0])).cluster
    array([5., 5.])
    """
    both = table.data.astype(np.float64)
    row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    sizes = np.bincount(row, both).astype(np.float64, copy=False)
    w = np.ones(len(sizes)) if weights is None else weights
    items = w[row] * both
    drawn = np.bincount(table.indices, items, minlength=table.shape[1])
    return CellCounts(
        items=items,
        both=both,
        cluster=both + drawn[table.indices] - items,
        cls=sizes[row],
        all=(sizes + w @ sizes - w * sizes)[row],
    )


@kernel()
def _count_cells(
    classes: NDArray[np.int64], clusters: NDArray[np.int64], ends: NDArray[np.int64], n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the table as (counts, columns, starts): gather the items class by class, then count within each.

    `ends` (classes,) is the number of items of each class and all classes before it.
    """
    by_class = np.empty(len(classes), dtype=np.int64)
    place = ends.copy()
    for item in range(len(classes) - 1, -1, -1):
        place[classes[item]] -= 1
        by_class[place[classes[item]]] = clusters[item]
    starts = np.zeros(len(ends) + 1, dtype=np.int64)
    cell_of = np.empty(n_clusters, dtype=np.int64)  # the last cell of each cluster: of this class, or of an earlier one
    cell_of[:] = -1
    columns = np.empty(len(classes), dtype=np.int64)
    counts = np.empty(len(classes), dtype=np.int64)
    cells, item = 0, 0
    for c in range(len(ends)):
        while item < ends[c]:
            cluster = by_class[item]
            if cell_of[cluster] < starts[c]:
                cell_of[cluster] = cells
                columns[cells] = cluster
                counts[cells] = 0
                cells += 1
            counts[cell_of[cluster]] += 1
            item += 1
        starts[c + 1] = cells
    return counts[:cells].copy(), columns[:cells].copy(), starts
