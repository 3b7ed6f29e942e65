r"""Every choice of k, the number of neighbours, in kinfolk.

What k is for decides how large it may be:

choose_k              neighbourhoods are most closed; needs no network
k_for_features        features become means over neighbours: k just below the size of a class, and small on small sets
k_for_ranking         the settings of re-rankers: as for features, and a fixed k for very few rows
k_after_training      features of a new set after a fit to labels: the k of the fit, scaled if classes differ in size
k_for_labelled        networks trained on labelled classes: their size, within bounds

The first two read curves over k (`closure`, `kin_counts`), at values of k that grow by a factor of 2 and of about 1.4.
docs/constants.md lists the constants, what they were chosen on, and what half and double of each do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.kinship.edge_tests import WINDOW
from kinfolk.kinship.kin_counts import kin_counts
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.neighbors import NeighborGraph
from kinfolk.neighbors.copies import without_near_copies
from kinfolk.similarity.closure import most_closed

CLOSURE_KS = (5, 10, 20, 40, 80, 160, 320)
CANDIDATES = (3, 4, 6, 8, 12, 17, 24, 34, 48, 68, 96, 120)  # 68 to 192 at the end are level; 120 is the paper's largest
SMALLEST_CANDIDATE = 2  # for features only: classes of three
FEWEST_ROWS = 60  # of a ranking; below it the curves are too rough to read
K_OF_FEW_ROWS = 4

FULL_CLASS = 0.95  # features: the kin count, of 1 or its peak, up to which k is not larger than a class
SURE = 0.9  # features: a kin count that stays below shows no classes
VALLEY = 0.8  # features: of an earlier count; families of look-alikes fall to 0.64 to 0.77, real sets to 0.86
ROWS_PER_NEIGHBOR = 40  # features: k is at most a 40th of the rows; few rows say little about the size of small classes

SAME_SIZE = 2.0  # up to this ratio two k count as estimates of the same size
FEWEST_LABELLED, MOST_LABELLED = 10, 80  # of networks trained on labelled classes


def choose_k(g: NeighborGraph) -> int:
    """Return the number of neighbours, up to those the graph has, at which neighbourhoods are most closed.

    It follows the size of the classes without labels and without the kinship network.

    Parameters
    ----------
    g : a graph with at least 5 neighbours a row.

    Examples
    --------
    >>> import kinfolk as kf
    >>> rows = np.eye(6).repeat(11, axis=0) + 0.1 * np.random.default_rng(0).random((66, 6))   # six classes of eleven
    >>> choose_k(kf.knn_graph(rows, k=40))
    10
    """
    if g.k < CLOSURE_KS[0]:
        raise InputError(f"choosing k needs a graph with at least {CLOSURE_KS[0]} neighbours a row, this one has {g.k}")
    return most_closed(g, CLOSURE_KS)


def candidate_ks(n: int) -> list[int]:
    """Return the k that can be tried on n rows: the 2 k nearest must be less than half of them.

    >>> candidate_ks(50)
    [3, 4, 6, 8, 12]
    """
    return [k for k in CANDIDATES if 2 * WINDOW * k <= n] or [max(1, min(CANDIDATES[0], (n - 1) // WINDOW))]


def neighbors_to_choose(n: int) -> int:
    """Return how many neighbours a graph of n rows needs so that k can be chosen on it.

    >>> neighbors_to_choose(10), neighbors_to_choose(5000)
    (6, 240)
    """
    return max(1, min(WINDOW * candidate_ks(n)[-1], n - 1))


def k_for_features(net: KinshipNetwork, g: NeighborGraph, seed: int = 0) -> int:
    """Return the largest k whose 2 k nearest hold 0.95 k kin: just below the size of a class.

    k is at most a 40th of the rows, and larger ones are not looked at: on sets with classes of very different sizes the
    count follows the large ones, and the rows of the small ones would become means of strangers. Features of small sets
    with few, even classes gain less by that. Where the count stays below 1, the level is 0.95 of the largest one; where
    it stays below 0.9, nothing shows how large classes are, and k is 2. Where it falls below 0.8 of an earlier one and
    rises by a tenth again, the larger k count families of classes that look alike, and k ends in the valley. Near
    copies should count once (`kinfolk.neighbors.copies`).

    >>> import kinfolk as kf
    >>> rows = np.eye(60).repeat(11, axis=0) + 0.1 * np.random.default_rng(0).random((660, 60))  # 60 classes of eleven
    >>> 8 <= k_for_features(KinshipNetwork.shipped(), kf.knn_graph(rows, k=40)) <= 12
    True
    """
    most = min(g.k, max(SMALLEST_CANDIDATE, len(g) // ROWS_PER_NEIGHBOR))
    ks = [k for k in (SMALLEST_CANDIDATE, *candidate_ks(len(g))) if WINDOW * k <= g.k] or [min(SMALLEST_CANDIDATE, g.k)]
    ks = ks[: int(np.searchsorted(ks, most)) + 1]  # up to the first that is too large
    counts = kin_counts(net, g, ks, seed)
    end = _first_valley(counts) + 1
    ks, counts = ks[:end], counts[:end]
    if counts.max() < SURE:
        return min(SMALLEST_CANDIDATE, most)
    level = FULL_CLASS * min(1, counts.max())
    a = int(np.flatnonzero(counts >= level)[-1])
    return min(most, ks[a] if a == len(ks) - 1 else round(_between(ks, counts, a, level)))


def k_for_ranking(net: KinshipNetwork, g: NeighborGraph) -> int:
    """Return the k that the settings of re-rankers follow; 4 for fewer than 60 rows, whose counts are too rough.

    >>> import kinfolk as kf
    >>> k_for_ranking(KinshipNetwork.shipped(), kf.knn_graph(np.eye(30) + 0.1, k=20))
    4
    """
    g = without_near_copies(g)
    return k_for_features(net, g) if len(g) >= FEWEST_ROWS else min(K_OF_FEW_ROWS, len(g) - 1)


def k_after_training(own: int, k_without_labels: int, k_with_labels: int) -> int:
    """Return k for a new set whose own k is `own`, after a fit that found one k without labels and one with them.

    A set with classes of about the same size gets the k of the fit, another one its own, changed as labels changed it.

    >>> k_after_training(25, 20, 14), k_after_training(100, 20, 14)
    (14, 70)
    """
    if 1 / SAME_SIZE <= own / k_without_labels <= SAME_SIZE:
        return k_with_labels
    return max(1, round(own * k_with_labels / k_without_labels))


def mean_class_size(classes: NDArray[np.integer]) -> float:
    r"""Return the size of the class that a row has on average: sum n_c^2 / sum n_c over classes (n,), numbered from 0.

    >>> mean_class_size(np.array([0, 0, 0, 1]))
    2.5
    """
    sizes = np.bincount(classes).astype(np.float64)
    return float((sizes**2).sum() / sizes.sum())


def k_for_labelled(classes: NDArray[np.integer]) -> int:
    """Return the mean class size, kept between 10 and 80.

    >>> k_for_labelled(np.array([0] * 30 + [1] * 10))
    25
    """
    return int(np.clip(round(mean_class_size(classes)), FEWEST_LABELLED, MOST_LABELLED))


def _first_valley(counts: NDArray[np.float64]) -> int:
    """Return the bottom of the first deep valley of the counts (c,), or the last place without one.

    >>> _first_valley(np.array([1.2, 1.3, 1.0, 0.9, 1.1])), _first_valley(np.array([1.2, 1.15, 1.0, 1.2, 0.9]))
    (3, 4)
    """
    before = np.maximum.accumulate(counts)
    after = np.maximum.accumulate(counts[::-1])[::-1]
    inside = np.flatnonzero((counts < VALLEY * before) & (counts < SURE * after))
    if not len(inside):
        return len(counts) - 1
    rises = np.flatnonzero(np.diff(counts[inside[0] :]) > 0)
    return int(inside[0] + rises[0])


def _between(ks: list[int], counts: NDArray[np.float64], a: int, level: float) -> float:
    """Return where the counts pass the level between ks[a] and ks[a + 1], on a logarithmic scale of k."""
    share = (counts[a] - level) / (counts[a] - counts[a + 1])
    return float(ks[a] * (ks[a + 1] / ks[a]) ** share)
