r"""Every choice of k, the number of neighbours, in kinfolk.

What k is for decides how large it may be:

choose_k              neighbourhoods are most closed; needs no network
k_for_features        features become means over neighbours: k just below the size of a class
k_for_clusters        pairs are joined: k about the size of a class; labels of other identities may give that size
k_for_ranking         the settings of re-rankers: as for features, and a fixed k for very few rows
k_after_training      features of a new set after a fit to labels: the k of the fit, scaled if classes differ in size
k_for_labelled        networks trained on labelled classes: their size, within bounds

The first three read curves over k (`closure`, `kin_counts`) on `candidate_ks`, which grow by a factor of about 1.4.
docs/constants.md lists the constants, what they were chosen on, and what half and double of each do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.kinship.edge_probabilities import window_of
from kinfolk.kinship.edge_tests import WINDOW
from kinfolk.kinship.kin_counts import kin_counts, rise_after, rose_to
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.neighbors import NeighborGraph
from kinfolk.similarity.closure import most_closed

CLOSURE_KS = (5, 10, 20, 40, 80, 160, 320)
CANDIDATES = (3, 4, 6, 8, 12, 17, 24, 34, 48, 68, 96, 136, 192)
SMALLEST_CANDIDATE = 2  # for features only: classes of three
FEWEST_ROWS = 60  # below it the curves are too rough to read
K_OF_FEW_ROWS = 4

FULL_CLASS = 0.98  # features: the kin count up to which k is not larger than a class
NEARLY_FULL = 0.93  # features: the same, of the largest count, where the network finds too few kin at any k
NOISY_BELOW = 6  # features: at smaller k a scale holds one or two neighbours, and a valley means nothing
DROP_BEFORE_VALLEY = 0.02  # features: minimum drop from a peak that the counts rose to
RISE_AFTER_VALLEY = 0.15  # features: minimum rise after a valley
DEEP_DROP = 0.2  # minimum drop from a first value that is no peak: small windows lose kin before a class shows

PAST_CLASS = 0.8  # clusters: the count, of its peak, at which k is about a class
WHOLE_CLASS = 1.15  # clusters: the count from which on a class shows; smaller ones at the start are skipped
FLAT_AFTER_PEAK = 0.03  # clusters: counts that grow by less than this behind a peak stand still
RISE_AFTER_FLAT = 0.05  # clusters: minimum rise behind such a place
LARGEST_OVER_PEAK = 2  # clusters: a valley beyond so many times the k of the peak is not the end of a class

SHARE_OF_CLASS = 0.8  # of the labelled class size: classes differ, and a k too large joins strangers
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
    (6, 384)
    """
    return max(1, min(WINDOW * candidate_ks(n)[-1], n - 1))


def largest_k(g: NeighborGraph) -> int:
    """Return the largest k for which the graph has neighbours enough.

    >>> import kinfolk as kf
    >>> largest_k(kf.knn_graph(kf.datasets.digits(), k=48))
    20
    """
    return max([k for k in range(1, g.k + 1) if window_of(k) <= g.k], default=1)


def k_for_features(net: KinshipNetwork, g: NeighborGraph, seed: int = 0) -> int:
    """Return the largest k whose 2 k nearest hold 0.98 k kin: just below the size of a class.

    Where the count has a valley, a class is full and its family of look-alikes begins: k stays below it. Where the
    network finds fewer kin than that at every k, the level is 0.93 of the largest count.

    >>> import kinfolk as kf
    >>> rows = np.eye(6).repeat(11, axis=0) + 0.1 * np.random.default_rng(0).random((66, 6))   # six classes of eleven
    >>> 8 <= k_for_features(KinshipNetwork.shipped(), kf.knn_graph(rows, k=40)) <= 12
    True
    """
    ks = [k for k in (SMALLEST_CANDIDATE, *candidate_ks(len(g))) if WINDOW * k <= g.k] or [min(CANDIDATES[0], g.k)]
    counts = kin_counts(net, g, ks, seed)
    last = _first_valley(ks, counts)
    most = counts[: last + 1].max()
    level = FULL_CLASS if most >= FULL_CLASS else NEARLY_FULL * most
    a = max(a for a in range(last + 1) if counts[a] >= level)
    return ks[a] if a == last else round(_between(ks, counts, a, level))


def k_for_clusters(net: KinshipNetwork, g: NeighborGraph, seed: int = 0, class_size: float | None = None) -> int:
    """Return a k of about the size of a class, on the graph of enhanced features.

    The kin count has a peak while the window fits into a class; where it has fallen to 0.8 of the peak, k is about a
    class. Where it dips and rises again before, k is the bottom of the dip.

    Parameters
    ----------
    class_size : of labelled classes of the same kind of data. If the k read off the graph is at most twice and at
        least half of 0.8 times that, the labelled one is used: it is surer than one read off a curve.

    Examples
    --------
    >>> import kinfolk as kf
    >>> noise = 0.25 * np.random.default_rng(0).standard_normal((1200, 40))
    >>> Z = kf.GraphEnhancer().fit_transform(np.eye(40).repeat(30, axis=0) + noise)  # 40 classes of 30
    >>> 15 < k_for_clusters(KinshipNetwork.shipped(), kf.knn_graph(Z, k=120)) < 60
    True
    """
    ks = [k for k in candidate_ks(len(g)) if WINDOW * k <= g.k] or [1]
    counts = kin_counts(net, g, ks, seed)
    start = _where_classes_show(counts)
    ks, counts = ks[start:], counts[start:]
    own = min(largest_k(g), round(min(_end_of_class(ks, counts), _start_of_family(ks, counts))))
    return min(largest_k(g), _agree_with_labels(own, class_size))


def k_for_ranking(net: KinshipNetwork, g: NeighborGraph) -> int:
    """Return the k that the settings of re-rankers follow; 4 for fewer than 60 rows, whose counts are too rough.

    >>> import kinfolk as kf
    >>> k_for_ranking(KinshipNetwork.shipped(), kf.knn_graph(np.eye(30) + 0.1, k=20))
    4
    """
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


def _agree_with_labels(own: int, class_size: float | None) -> int:
    if class_size is None or not 1 / SAME_SIZE <= own / (SHARE_OF_CLASS * class_size) <= SAME_SIZE:
        return own
    return max(1, round(SHARE_OF_CLASS * class_size))


def _between(ks: list[int], counts: NDArray[np.float64], a: int, level: float) -> float:
    """Return where the counts pass the level between ks[a] and ks[a + 1], on a logarithmic scale of k."""
    share = (counts[a] - level) / (counts[a] - counts[a + 1])
    return float(ks[a] * (ks[a + 1] / ks[a]) ** share)


def _first_valley(ks: list[int], counts: NDArray[np.float64]) -> int:
    """Return the position of the first valley of the counts behind a peak, or the last position."""
    peak = 0
    for a in range(1, len(ks)):
        drop = DROP_BEFORE_VALLEY if rose_to(counts, peak) else DEEP_DROP
        dips = ks[a] >= NOISY_BELOW and counts[peak] - counts[a] > drop
        if dips and rise_after(counts, a) > RISE_AFTER_VALLEY:
            return a
        peak = a if counts[a] > counts[peak] else peak
    return len(ks) - 1


def _where_classes_show(counts: NDArray[np.float64]) -> int:
    """Return the position of the lowest count before the first that reaches a whole class; 0 if there is none.

    Windows far smaller than a class hold fewer kin the larger they are: that fall and the rise to the class would pass
    for a class of six and its family. Real classes of 3 to 8 items start at 1.2 or more.
    """
    first = int(np.argmax(counts >= WHOLE_CLASS))
    return int(np.argmin(counts[: first + 1]))


def _end_of_class(ks: list[int], counts: NDArray[np.float64]) -> float:
    """Return where the counts have fallen to 0.8 of their peak for good; the last k if they have not."""
    for a in range(1, len(ks)):
        level = PAST_CLASS * counts[:a].max()
        if counts[a] < level and counts[a:].max() <= counts[:a].max():
            return _between(ks, counts, a - 1, level)
    return ks[-1]


def _start_of_family(ks: list[int], counts: NDArray[np.float64]) -> float:
    """Return the bottom of the first dip that the counts rise from again; the last k if there is none.

    Behind a peak they rose to, counts that stand still have dipped; behind any other they must fall far.
    """
    peak = 0
    for a in range(1, len(ks)):
        level = counts[peak] + FLAT_AFTER_PEAK if rose_to(counts, peak) else counts[peak] - DEEP_DROP
        if counts[a] < level and rise_after(counts, a) > RISE_AFTER_FLAT:
            return min(ks[a], LARGEST_OVER_PEAK * ks[peak])
        peak = a if counts[a] > counts[peak] else peak
    return ks[-1]
