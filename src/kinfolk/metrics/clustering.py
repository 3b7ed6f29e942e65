r"""Scores of a clustering against the true classes, all from one sparse table.

n_ck: items of class c in cluster k;   a_c = sum_k n_ck: size of a class;   b_k = sum_c n_ck: size of a cluster

An item of class c in cluster k shares its class with n_ck - 1 of the b_k - 1 others of its cluster and its cluster with
n_ck - 1 of the a_c - 1 others of its class. Every score is a mean over the items, a sum over the cells (c, k):

Pairwise    P = sum n_ck (n_ck - 1) / sum n_ck (b_k - 1)        R = sum n_ck (n_ck - 1) / sum n_ck (a_c - 1)
BCubed      P = 1/N sum n_ck  n_ck / b_k                        R = 1/N sum n_ck  n_ck / a_c
V-measure   H(C|K) = -1/N sum n_ck log(n_ck / b_k)              H(K|C) = -1/N sum n_ck log(n_ck / a_c)
F           2 P R / (P + R)

An item without a cluster (a label below zero, or an empty text) is a cluster of its own. An item without a known class
is left out of every score, also of the size of its cluster.

A score without anything to count is 1: Pairwise precision where no cluster has two items, recall where no class has;
homogeneity for one class, completeness for one cluster, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.checks import is_whole
from kinfolk._core.errors import InputError
from kinfolk.metrics._contingency import CellCounts, Values, cell_counts, contingency

SIZE_EDGES = (2, 5, 10, 20, 50, 100)  # about equal steps of the logarithm


class Score(NamedTuple):
    """Precision, recall and their harmonic mean f."""

    precision: float
    recall: float
    f: float


class VMeasure(NamedTuple):
    """Homogeneity (clusters of one class), completeness (classes in one cluster) and their harmonic mean v."""

    homogeneity: float
    completeness: float
    v: float


class SizeBucket(NamedTuple):
    """Scores of the items whose class has a certain size.

    Attributes
    ----------
    smallest, largest : sizes of the classes; largest is None where there is no upper end.
    classes, items : how many there are.
    pairwise, bcubed : Score of these items.
    """

    smallest: int
    largest: int | None
    classes: int
    items: int
    pairwise: Score
    bcubed: Score


class ClusteringReport(NamedTuple):
    """Every score of a clustering.

    Attributes
    ----------
    items, classes, clusters : how many there are.
    singletons : clusters of one item.
    pairwise, bcubed, nmi, ari, v_measure : scores, each as the function of its name returns it.
    by_class_size : scores of the items of small, middle and large classes.
    """

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


def pairwise(y: ArrayLike, p: ArrayLike) -> Score:
    """Return precision, recall and F over the pairs of items: those in one cluster, against those of one class.

    Parameters
    ----------
    y : (n,) true classes, whole numbers or texts; items below zero, or with an empty text, are left out.
    p : (n,) clusters; each item below zero, or with an empty text, is a cluster of its own.

    Returns
    -------
    Score(precision, recall, f)

    Examples
    --------
    >>> pairwise([0, 0, 0, 1], [0, 0, 1, 1])
    Score(precision=0.5, recall=0.3333333333333333, f=0.4)
    """
    return pairwise_score(cell_counts(contingency(y, p)))


def bcubed(y: ArrayLike, p: ArrayLike) -> Score:
    """Return BCubed precision, recall and F: for each item, itself included, then the mean over the items.

    Parameters
    ----------
    y, p : (n,) true classes and clusters, as in `pairwise`.

    Returns
    -------
    Score(precision, recall, f)

    Examples
    --------
    >>> bcubed([0, 0, 0, 1], [0, 0, 1, 1])
    Score(precision=0.75, recall=0.6666666666666666, f=0.7058823529411765)
    """
    return bcubed_score(cell_counts(contingency(y, p)))


def v_measure(y: ArrayLike, p: ArrayLike) -> VMeasure:
    """Return homogeneity 1 - H(C|K) / H(C), completeness 1 - H(K|C) / H(K), and their harmonic mean.

    Parameters
    ----------
    y, p : (n,) true classes and clusters, as in `pairwise`.

    Returns
    -------
    VMeasure(homogeneity, completeness, v)

    Examples
    --------
    >>> [round(value, 4) for value in v_measure([0, 0, 1, 1], [0, 1, 2, 2])]
    [1.0, 0.6667, 0.8]
    """
    return v_score(cell_counts(contingency(y, p)))


def nmi(y: ArrayLike, p: ArrayLike) -> float:
    """Return the mutual information over the mean of the two entropies, scikit-learn's default: the V-measure's v.

    Parameters
    ----------
    y, p : (n,) true classes and clusters, as in `pairwise`.

    Returns
    -------
    A number from 0 to 1.

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1], [0, 1, 2, 2]), 4)
    0.8
    """
    return v_measure(y, p).v


def ari(y: ArrayLike, p: ArrayLike) -> float:
    """Return the adjusted Rand index: agreement over pairs, 0 for chance, 1 for identity.

    Parameters
    ----------
    y, p : (n,) true classes and clusters, as in `pairwise`.

    Returns
    -------
    A number from -1 to 1.

    Examples
    --------
    >>> ari([0, 0, 1, 1], [0, 0, 1, 2])
    0.5714285714285714
    """
    return ari_score(cell_counts(contingency(y, p)))


def by_class_size(y: ArrayLike, p: ArrayLike, edges: Sequence[int] = SIZE_EDGES) -> tuple[SizeBucket, ...]:
    """Return the scores of small and of large classes.

    Over the items i of a bucket's classes only: Pairwise over the pairs of i with any other item, BCubed over the i.

    Parameters
    ----------
    y, p : (n,) true classes and clusters, as in `pairwise`.
    edges : rising class sizes at which a bucket starts; another one starts at size 1. Empty buckets are left out.

    Returns
    -------
    A SizeBucket for each range of sizes, the smallest first.

    Examples
    --------
    >>> small, large = by_class_size([0, 1, 1, 1], [0, 0, 1, 1])
    >>> (small.smallest, small.largest, small.bcubed.precision), (large.smallest, large.largest, large.bcubed.recall)
    ((1, 1, 0.5), (2, 4, 0.5555555555555555))
    """
    table = contingency(y, p)
    return _size_buckets(cell_counts(table), table.sum(axis=1), edges)


def clustering_report(y: ArrayLike, p: ArrayLike, edges: Sequence[int] = SIZE_EDGES) -> ClusteringReport:
    """Return every score of the clustering `p` against the classes `y`, from one table.

    Parameters
    ----------
    y, p : (n,) true classes and clusters, as in `pairwise`.
    edges : of the classes by size, as in `by_class_size`.

    Returns
    -------
    ClusteringReport

    Examples
    --------
    >>> report = clustering_report([0, 0, 1, 1, 1], [0, 0, 1, 1, -1])
    >>> report.pairwise.precision, report.pairwise.recall, report.clusters, report.singletons
    (1.0, 0.5, 3, 1)
    """
    table = contingency(y, p)
    cells = cell_counts(table)
    v = v_score(cells)
    return ClusteringReport(
        items=int(table.sum()),
        classes=table.shape[0],
        clusters=table.shape[1],
        singletons=int(np.count_nonzero(table.sum(axis=0) == 1)),
        pairwise=pairwise_score(cells),
        bcubed=bcubed_score(cells),
        nmi=v.v,
        ari=ari_score(cells),
        v_measure=v,
        by_class_size=_size_buckets(cells, table.sum(axis=1), edges),
    )


def pairwise_score(cells: CellCounts) -> Score:
    """Return Pairwise precision, recall and F from the counts of a table.

    >>> pairwise_score(cell_counts(contingency([0, 0, 1], [0, 0, 1]))).f
    1.0
    """
    together = cells.sum(cells.both - 1)
    return _score(_share(together, cells.sum(cells.cluster - 1)), _share(together, cells.sum(cells.cls - 1)))


def bcubed_score(cells: CellCounts) -> Score:
    """Return BCubed precision, recall and F from the counts of a table.

    >>> bcubed_score(cell_counts(contingency([0, 0, 1], [0, 0, 0]))).recall
    1.0
    """
    return _score(cells.mean(cells.both / cells.cluster), cells.mean(cells.both / cells.cls))


def v_score(cells: CellCounts) -> VMeasure:
    """Return homogeneity, completeness and V from the counts of a table.

    >>> v_score(cell_counts(contingency([0, 0, 1], [0, 0, 0]))).completeness
    1.0
    """

    def entropy(part: Values, whole: Values) -> float:
        return -cells.mean(np.log(part / whole))

    homogeneity = 1 - _share(entropy(cells.both, cells.cluster), entropy(cells.cls, cells.all), nothing=0.0)
    completeness = 1 - _share(entropy(cells.both, cells.cls), entropy(cells.cluster, cells.all), nothing=0.0)
    return VMeasure(*_score(min(max(homogeneity, 0.0), 1.0), min(max(completeness, 0.0), 1.0)))


def ari_score(cells: CellCounts) -> float:
    """Return the adjusted Rand index from the counts of a table.

    >>> ari_score(cell_counts(contingency([0, 0, 1, 1], [0, 0, 1, 1])))
    1.0
    """
    together = cells.sum(cells.both - 1)
    wrong = cells.sum(cells.cluster - 1) - together
    missed = cells.sum(cells.cls - 1) - together
    apart = cells.sum(cells.all - 1) - together - wrong - missed
    if wrong == missed == 0:
        return 1.0
    by_chance = (together + missed) * (missed + apart) + (together + wrong) * (wrong + apart)
    return float(2 * (together * apart - missed * wrong) / by_chance)


def _score(precision: float, recall: float) -> Score:
    both = precision + recall
    return Score(precision, recall, 2 * precision * recall / both if both else 0.0)


def _share(part: float, whole: float, nothing: float = 1.0) -> float:
    return float(part / whole) if whole > 0 else nothing


def _size_buckets(cells: CellCounts, sizes: NDArray[np.int64], edges: Sequence[int]) -> tuple[SizeBucket, ...]:
    if not all(is_whole(edge) for edge in edges) or np.any(np.diff([0, *edges]) <= 0):
        raise InputError(f"edges must be rising whole numbers from 1 on, not {list(edges)}")
    starts = [1, *(edge for edge in edges if edge > 1)]
    ends = [*(start - 1 for start in starts[1:]), None]
    buckets = []
    for smallest, largest in zip(starts, ends, strict=True):
        highest = np.inf if largest is None else largest
        chosen = (sizes >= smallest) & (sizes <= highest)
        if chosen.any():
            part = cells.take((cells.cls >= smallest) & (cells.cls <= highest))
            scores = pairwise_score(part), bcubed_score(part)
            buckets.append(SizeBucket(smallest, largest, int(chosen.sum()), int(sizes[chosen].sum()), *scores))
    return tuple(buckets)
