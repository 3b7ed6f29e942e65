r"""Scores of a clustering against the true classes, all from one sparse table.

n_ck: items of class c in cluster k;   a_c = sum_k n_ck: size of a class;   b_k = sum_c n_ck: size of a cluster

An item of class c in cluster k has n_ck - 1 kin among the b_k - 1 others of its cluster and the a_c - 1 others of its
class. Every score is a mean over the items, and so a sum over the cells (c, k) of the table:

Pairwise    P = sum n_ck (n_ck - 1) / sum n_ck (b_k - 1)        R = sum n_ck (n_ck - 1) / sum n_ck (a_c - 1)
BCubed      P = 1/N sum n_ck  n_ck / b_k                        R = 1/N sum n_ck  n_ck / a_c
V-measure   H(C|K) = -1/N sum n_ck log(n_ck / b_k)              H(K|C) = -1/N sum n_ck log(n_ck / a_c)
F           2 P R / (P + R)

Who counts: an item without a cluster (a label below zero, or an empty text) is a cluster of its own. An item without a
known class is left out of every score, also of the size of its cluster.

Where nothing can be wrong, nothing is: without a pair in any cluster Pairwise precision is 1, without a pair in any
class recall is 1; homogeneity is 1 for one class, completeness for one cluster, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kinfolk._core.errors import InputError
from kinfolk.metrics._labels import numbered

SIZE_EDGES = (2, 5, 10, 20, 50, 100)
Values = NDArray[np.float64]


class Score(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f: float


class VMeasure(NamedTuple):
    """Homogeneity (clusters of one class), completeness (classes in one cluster) and their harmonic mean."""

    homogeneity: float
    completeness: float
    v: float


class SizeBucket(NamedTuple):
    """Scores of the items whose class has `smallest` to `largest` items (None: no upper end)."""

    smallest: int
    largest: int | None
    classes: int
    items: int
    pairwise: Score
    bcubed: Score


class ClusteringReport(NamedTuple):
    """Every score of a clustering; `singletons` are clusters of one item."""

    items: int
    classes: int
    clusters: int
    singletons: int
    pairwise: Score
    bcubed: Score
    nmi: float
    ari: float
    v_measure: VMeasure
    by_class_size: tuple[SizeBucket, ...]


def contingency(y: ArrayLike, p: ArrayLike) -> sparse.csr_array:
    """Return how many items of each class are in each cluster: (classes, clusters), sparse, int64.

    Rows are the known labels of `y` and columns those of `p`, in sorted order; items of `p` without a cluster come
    last, a column each. Time linear in the items; memory: at most seven whole numbers an item.

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
    counts, columns, starts = _count_cells(classes, clusters, *shape)
    table = sparse.csr_array((counts, columns, starts), shape=shape)
    table.sort_indices()
    return table


def pairwise(y: ArrayLike, p: ArrayLike) -> Score:
    """Return precision, recall and F over the pairs of items: those put together, against those of one class.

    >>> pairwise([0, 0, 0, 1], [0, 0, 1, 1])
    Score(precision=0.5, recall=0.3333333333333333, f=0.4)
    """
    return pairwise_score(view(contingency(y, p)))


def bcubed(y: ArrayLike, p: ArrayLike) -> Score:
    """Return BCubed precision, recall and F: for each item, itself included, then the mean over the items.

    >>> bcubed([0, 0, 0, 1], [0, 0, 1, 1])
    Score(precision=0.75, recall=0.6666666666666666, f=0.7058823529411765)
    """
    return bcubed_score(view(contingency(y, p)))


def v_measure(y: ArrayLike, p: ArrayLike) -> VMeasure:
    """Return homogeneity 1 - H(C|K) / H(C), completeness 1 - H(K|C) / H(K), and their harmonic mean.

    >>> [round(value, 4) for value in v_measure([0, 0, 1, 1], [0, 1, 2, 2])]
    [1.0, 0.6667, 0.8]
    """
    return v_score(view(contingency(y, p)))


def nmi(y: ArrayLike, p: ArrayLike) -> float:
    """Return the mutual information over the mean of the two entropies, scikit-learn's default: the V-measure's v.

    >>> round(nmi([0, 0, 1, 1], [0, 1, 2, 2]), 4)
    0.8
    """
    return v_measure(y, p).v


def ari(y: ArrayLike, p: ArrayLike) -> float:
    """Return the adjusted Rand index: agreement over pairs, 0 for chance, 1 for identity.

    >>> ari([0, 0, 1, 1], [0, 0, 1, 2])
    0.5714285714285714
    """
    return ari_score(view(contingency(y, p)))


def by_class_size(y: ArrayLike, p: ArrayLike, edges: Sequence[int] = SIZE_EDGES) -> tuple[SizeBucket, ...]:
    """Return the scores of small and of large classes; a bucket starts at each of `edges`, one at size 1, if not empty.

    Over the items i of a bucket's classes only: Pairwise over the pairs (i, anybody), BCubed over the items i.

    >>> small, large = by_class_size([0, 1, 1, 1], [0, 0, 1, 1])
    >>> (small.smallest, small.largest, small.bcubed.precision), (large.smallest, large.largest, large.bcubed.recall)
    ((1, 1, 0.5), (2, 4, 0.5555555555555555))
    """
    table = contingency(y, p)
    return _size_buckets(view(table), table.sum(axis=1), edges)


def clustering_report(y: ArrayLike, p: ArrayLike, edges: Sequence[int] = SIZE_EDGES) -> ClusteringReport:
    """Return every score of the clustering `p` against the classes `y`, from one table.

    >>> report = clustering_report([0, 0, 1, 1, 1], [0, 0, 1, 1, -1])
    >>> report.pairwise.precision, report.pairwise.recall, report.clusters, report.singletons
    (1.0, 0.5, 3, 1)
    """
    table = contingency(y, p)
    seen = view(table)
    v = v_score(seen)
    return ClusteringReport(
        items=int(table.sum()),
        classes=table.shape[0],
        clusters=table.shape[1],
        singletons=int(np.count_nonzero(table.sum(axis=0) == 1)),
        pairwise=pairwise_score(seen),
        bcubed=bcubed_score(seen),
        nmi=v.v,
        ari=ari_score(seen),
        v_measure=v,
        by_class_size=_size_buckets(seen, table.sum(axis=1), edges),
    )


class View(NamedTuple):
    """What the items of each cell of the table see: a number for each cell.

    items: how many there are;  kin: n_ck, of their class and cluster;  cluster: b_k;  cls: a_c;  everyone: N
    """

    items: Values
    kin: Values
    cluster: Values
    cls: Values
    everyone: Values

    def sum(self, seen: Values) -> float:
        """Add up something that is seen, over all items."""
        return float(np.sum(self.items * seen))  # not a product of vectors: BLAS rounds by where they lie in memory

    def mean(self, seen: Values) -> float:
        """Return the mean of something that is seen, over all items."""
        return self.sum(seen) / float(self.items.sum())

    def take(self, cells: NDArray[np.bool_]) -> View:
        """Return what the items of some cells see."""
        return View(*(column[cells] for column in self))


def view(table: sparse.csr_array, weights: Values | None = None) -> View:
    r"""Return what the items of each cell see, when class c has been drawn `weights[c]` times (once unless told).

    Each of the w_c draws is a class of its own. Its items see the other classes as often as those were drawn, but not
    the other draws of the same class: those hold the same items, and seeing them as strangers would make a perfect
    clustering wrong.

    items = w_c n_ck   cluster = n_ck + sum over c' != c of w_c' n_c'k   everyone = a_c + sum over c' != c of w_c' a_c'

    >>> view(contingency([0, 0, 1], [0, 0, 0]), np.array([2.0, 3.0])).cluster
    array([5., 5.])
    """
    kin = table.data.astype(np.float64)
    row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    sizes = np.bincount(row, kin).astype(np.float64, copy=False)
    w = np.ones(len(sizes)) if weights is None else weights
    items = w[row] * kin
    drawn = np.bincount(table.indices, items, minlength=table.shape[1])
    return View(
        items=items,
        kin=kin,
        cluster=kin + drawn[table.indices] - items,
        cls=sizes[row],
        everyone=(sizes + w @ sizes - w * sizes)[row],
    )


def pairwise_score(seen: View) -> Score:
    """Return Pairwise precision, recall and F of a view.

    >>> pairwise_score(view(contingency([0, 0, 1], [0, 0, 1]))).f
    1.0
    """
    together = seen.sum(seen.kin - 1)
    return _score(_share(together, seen.sum(seen.cluster - 1)), _share(together, seen.sum(seen.cls - 1)))


def bcubed_score(seen: View) -> Score:
    """Return BCubed precision, recall and F of a view.

    >>> bcubed_score(view(contingency([0, 0, 1], [0, 0, 0]))).recall
    1.0
    """
    return _score(seen.mean(seen.kin / seen.cluster), seen.mean(seen.kin / seen.cls))


def v_score(seen: View) -> VMeasure:
    """Return homogeneity, completeness and V of a view.

    >>> v_score(view(contingency([0, 0, 1], [0, 0, 0]))).completeness
    1.0
    """

    def entropy(part: Values, whole: Values) -> float:
        return -seen.mean(np.log(part / whole))

    homogeneity = 1 - _share(entropy(seen.kin, seen.cluster), entropy(seen.cls, seen.everyone), nothing=0.0)
    completeness = 1 - _share(entropy(seen.kin, seen.cls), entropy(seen.cluster, seen.everyone), nothing=0.0)
    return VMeasure(*_score(min(max(homogeneity, 0.0), 1.0), min(max(completeness, 0.0), 1.0)))


def ari_score(seen: View) -> float:
    """Return the adjusted Rand index of a view.

    >>> ari_score(view(contingency([0, 0, 1, 1], [0, 0, 1, 1])))
    1.0
    """
    together = seen.sum(seen.kin - 1)
    wrong = seen.sum(seen.cluster - 1) - together
    missed = seen.sum(seen.cls - 1) - together
    apart = seen.sum(seen.everyone - 1) - together - wrong - missed
    if wrong == missed == 0:
        return 1.0
    by_chance = (together + missed) * (missed + apart) + (together + wrong) * (wrong + apart)
    return float(2 * (together * apart - missed * wrong) / by_chance)


def _score(precision: float, recall: float) -> Score:
    both = precision + recall
    return Score(precision, recall, 2 * precision * recall / both if both else 0.0)


def _share(part: float, whole: float, nothing: float = 1.0) -> float:
    return float(part / whole) if whole > 0 else nothing


def _size_buckets(seen: View, sizes: NDArray[np.int64], edges: Sequence[int]) -> tuple[SizeBucket, ...]:
    if not all(isinstance(edge, int | np.integer) for edge in edges) or np.any(np.diff([0, *edges]) <= 0):
        raise InputError(f"edges must be rising whole numbers from 1 on, not {list(edges)}")
    starts = [1, *(edge for edge in edges if edge > 1)]
    ends = [*(start - 1 for start in starts[1:]), None]
    buckets = []
    for smallest, largest in zip(starts, ends, strict=True):
        highest = np.inf if largest is None else largest
        chosen = (sizes >= smallest) & (sizes <= highest)
        if chosen.any():
            part = seen.take((seen.cls >= smallest) & (seen.cls <= highest))
            scores = pairwise_score(part), bcubed_score(part)
            buckets.append(SizeBucket(smallest, largest, int(chosen.sum()), int(sizes[chosen].sum()), *scores))
    return tuple(buckets)


@nb.njit(cache=True)
def _count_cells(
    classes: NDArray[np.int64], clusters: NDArray[np.int64], n_classes: int, n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the table as (counts, columns, starts): gather the items class by class, then count within each."""
    place = np.zeros(n_classes + 1, dtype=np.int64)
    for c in classes:
        place[c + 1] += 1
    place = place.cumsum()
    ends = place[1:].copy()
    by_class = np.empty(len(classes), dtype=np.int64)
    for item in range(len(classes)):
        by_class[place[classes[item]]] = clusters[item]
        place[classes[item]] += 1
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    cell_of = np.full(n_clusters, -1, dtype=np.int64)  # the last cell of each cluster: of this class, or of an earlier
    columns = np.empty(len(classes), dtype=np.int64)
    counts = np.empty(len(classes), dtype=np.int64)
    cells, item = 0, 0
    for c in range(n_classes):
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
