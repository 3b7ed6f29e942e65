r"""Pairwise and BCubed scores at every threshold of a hierarchy, in one pass over its merges.

When clusters A and B are merged, with a_c and b_c items of class c,

    same-class pairs  grow by  sum_c a_c b_c,           pairs  grow by  |A| |B|
    BCubed precision  N P  gains  q_AB / |AB| - q_A / |A| - q_B / |B|,    q_AB = q_A + q_B + 2 sum_c a_c b_c
    BCubed recall     N R  gains  2 sum_c a_c b_c / n_c,                  n_c: items of class c

where the sums run over the classes of the cluster that has fewer of them, whose counts are then added to the other's:
O(n log n) in all. Scores are those of `kf.metrics`: rows without a known class are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk.cluster._internal.hash_map import DELETED, EMPTY, new_hash_map, rehashed, slot_of
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.union_find import find
from kinfolk.metrics import Score, bcubed, pairwise
from kinfolk.metrics._labels import numbered

HASHED_FROM = 8  # classes of a cluster from which on they are found by a hash map; fewer by a linear search


class SweepPoint(NamedTuple):
    """The scores at one threshold."""

    threshold: float
    pairwise: Score
    bcubed: Score


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Scores over thresholds, highest threshold first.

    Shapes: thresholds (p,); pairwise and bcubed (p, 3): precision, recall, F; n_clusters (p,), of the rows with a
    known class.
    """

    thresholds: NDArray[np.float32]
    pairwise: NDArray[np.float64]
    bcubed: NDArray[np.float64]
    n_clusters: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.thresholds)

    def __getitem__(self, row: int) -> SweepPoint:
        return SweepPoint(
            float(self.thresholds[row]), Score(*self.pairwise[row].tolist()), Score(*self.bcubed[row].tolist())
        )

    @property
    def mean_f(self) -> NDArray[np.float64]:
        """The mean of the two F-scores, (F_P + F_B) / 2, at each threshold: what the paper tunes for."""
        return (self.pairwise[:, 2] + self.bcubed[:, 2]) / 2

    @property
    def oracle(self) -> SweepPoint:
        """The threshold with the best mean F. It is chosen with the labels, so no method without them may report it."""
        return self[int(np.argmax(self.mean_f))]

    def __repr__(self) -> str:
        best = self.oracle
        return (
            f"Sweep({len(self)} thresholds, oracle {best.threshold:.4f}: "
            f"F_P {best.pairwise.f:.4f}, F_B {best.bcubed.f:.4f})"
        )


def balance(labels: NDArray[np.integer], clusters: NDArray[np.integer]) -> float:
    """Return (F_P + F_B) / 2, which tuned settings maximise.

    >>> balance(np.array([0, 0, 1]), np.array([5, 5, 6]))
    1.0
    """
    return (pairwise(labels, clusters).f + bcubed(labels, clusters).f) / 2


def score_merges(merges: Merges, thresholds: ArrayLike, y: ArrayLike, n: int) -> Sweep:
    """Return the scores of the clusters of n rows with labels y after the merges at or above each threshold.

    Memory: about 70 bytes a row.

    >>> merges = Merges(np.array([0, 2, 0]), np.array([1, 3, 3]), np.array([0.9, 0.8, 0.1]))
    >>> score_merges(merges, [0.85, 0.5, 0.0], [0, 0, 1, 1], 4)
    Sweep(3 thresholds, oracle 0.5000: F_P 1.0000, F_B 1.0000)
    """
    classes = numbered(y, n)
    if classes.max() < 0:
        raise InputError("y holds no known class: there is nothing to score against")
    falling = np.sort(np.asarray(thresholds, dtype=merges.similarity.dtype))[::-1]
    stops = np.searchsorted(-merges.similarity, -falling, side="right")
    left, right = (np.ascontiguousarray(merges.left, np.int32), np.ascontiguousarray(merges.right, np.int32))
    sums, pairs, clusters = _scores_at_stops(left, right, stops, classes, np.bincount(classes[classes >= 0]))
    items = int(np.count_nonzero(classes >= 0))
    together, kin = pairs[:, 0], pairs[:, 1]
    class_pairs = int(sum(c * (c - 1) // 2 for c in np.bincount(classes[classes >= 0]).tolist()))
    # precision without any pair is 1
    precision = np.where(together > 0, kin / np.maximum(together, 1), 1.0)
    recall = kin / class_pairs if class_pairs else np.ones(len(kin))
    return Sweep(falling, _with_f(precision, recall), _with_f(*(sums.T / items)), clusters)


def _with_f(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    total = precision + recall
    f = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
    return np.stack([precision, recall, f], axis=1)


@kernel()
def _scores_at_stops(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    stops: NDArray[np.int64],
    classes: NDArray[np.int64],
    class_size: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return at each stop N P and N R of BCubed, the pairs and the same-class pairs, and the number of clusters."""
    n, n_classes = len(classes), len(class_size)
    parent, size = (np.empty(n, np.int32), np.empty(n, np.int64))  # of a cluster: items of known class
    squares, counts = (np.empty(n, np.int64), np.empty(n, np.int64))  # q of a cluster; items of a class in a cluster
    # the classes of a cluster are a linked list of entries, entry i for class classes[i]
    first, following, entries = (np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64))
    clusters = 0
    for i in range(n):
        known = 1 if classes[i] >= 0 else 0
        parent[i], following[i], first[i] = i, -1, i if known else -1
        size[i] = squares[i] = counts[i] = entries[i] = known
        clusters += known
    keys, entry_of = new_hash_map(n // 8)  # (cluster, class) -> entry, for clusters with many classes
    used = 0
    precision, recall = float(clusters), float(n_classes)
    together, kin = 0, 0
    sums, pairs = np.empty((len(stops), 2)), np.empty((len(stops), 2), dtype=np.int64)
    n_clusters = np.empty(len(stops), dtype=np.int64)
    at = 0
    for stop in range(len(stops)):
        while at < stops[stop]:
            a, b = find(parent, left[at]), find(parent, right[at])
            at += 1
            if entries[a] > entries[b] or (
                entries[a] == entries[b] and size[a] > size[b]
            ):  # union by size keeps paths short
                a, b = b, a
            if 2 * (used + entries[a] + HASHED_FROM) > len(keys):
                keys, entry_of, used = rehashed(keys, entry_of)
            common, recalled, new = _add_counts(
                a, b, keys, entry_of, first, following, entries, counts, classes, class_size
            )
            used += new
            parent[a] = b
            if size[a] > 0 and size[b] > 0:
                precision -= squares[a] / size[a] + squares[b] / size[b]
                precision += (squares[a] + squares[b] + 2 * common) / (size[a] + size[b])
                recall += 2 * recalled
                together += size[a] * size[b]
                kin += common
                clusters -= 1
            squares[b] += squares[a] + 2 * common
            size[b] += size[a]
        sums[stop, 0], sums[stop, 1] = precision, recall
        pairs[stop, 0], pairs[stop, 1] = together, kin
        n_clusters[stop] = clusters
    return sums, pairs, n_clusters


@kernel(inline="always")
def _add_counts(
    a: int,
    b: int,
    keys: NDArray[np.int64],
    entry_of: NDArray[np.int64],
    first: NDArray[np.int64],
    following: NDArray[np.int64],
    entries: NDArray[np.int64],
    counts: NDArray[np.int64],
    classes: NDArray[np.int64],
    class_size: NDArray[np.int64],
) -> tuple[int, float, int]:
    """Add the class counts of a to those of b: return sum a_c b_c, sum a_c b_c / n_c, and the new keys of the map."""
    common, recalled, new = 0, 0.0, 0
    entry = first[a]
    while entry >= 0:
        c, after = classes[entry], following[entry]
        if entries[a] >= HASHED_FROM:
            entry_of[slot_of(keys, a * len(class_size) + c)] = DELETED
        if entries[b] >= HASHED_FROM:
            slot = slot_of(keys, b * len(class_size) + c)
            same = entry_of[slot] if keys[slot] != EMPTY else DELETED
        else:
            same = first[b]
            while same >= 0 and classes[same] != c:
                same = following[same]
        if same >= 0:
            common += counts[entry] * counts[same]
            recalled += counts[entry] * counts[same] / class_size[c]
            counts[same] += counts[entry]
        else:
            following[entry], first[b] = first[b], entry
            entries[b] += 1
            unhashed = entry if entries[b] >= HASHED_FROM else -1
            while unhashed >= 0:
                slot = slot_of(keys, b * len(class_size) + classes[unhashed])
                keys[slot], entry_of[slot] = (b * len(class_size) + classes[unhashed], unhashed)
                new += 1
                unhashed = (
                    following[unhashed] if entries[b] == HASHED_FROM else -1
                )  # the list has just become long: all of it
        entry = after
    return common, recalled, new
