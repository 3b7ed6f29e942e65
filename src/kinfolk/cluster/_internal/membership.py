r"""How surely each row is where it is, and where else it could be.

For each row, seen from the raw and from the enhanced features: a, the mean similarity to the others of its cluster;
b, the highest mean similarity to another cluster among those of its neighbours, the second choice; how many of its
nearest are in its cluster; and how much of its cluster two halves of the features keep together. With what is known of
its cluster and of the whole set, boosted trees give the log odds that the row is of the class that most rows of its
cluster are of; a row alone is, by definition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster._internal.halves import Halves
from kinfolk.cluster._internal.judge import Judge
from kinfolk.cluster._internal.views import View, similarity_to_clusters, strangers_of

LESS_CLEAR = -0.85  # in log odds, learned features beside generated ones: from the training parts of four real sets
NEAREST = (1, 4, 16, 64)
COUNT = 28


class Membership(NamedTuple):
    """The probability of each row's cluster (n,), and its second choice (n,), -1 without one."""

    probability: NDArray[np.float32]
    second: NDArray[np.int64]


def whole(X: NDArray[np.float32], indices: NDArray[np.int32], similarities: NDArray[np.float32]) -> View:
    """Return a view of all rows (n, d) of length one with their neighbours (n, k)."""
    k = NEAREST[-1]
    nearest = np.ascontiguousarray(indices[:, :k], dtype=np.int32)
    return View(X, np.arange(len(X)), nearest, np.asarray(similarities[:, :k]), strangers_of(X))


def membership(
    raw: View, enhanced: View, halves: tuple[Halves, Halves], labels: NDArray[np.int64], below_best: float
) -> Membership:
    """Return how sure clusters (n,), numbered 0, 1, 2, ..., are; below_best: what the judge says of them."""
    inputs, second = describe_rows(raw, enhanced, halves, labels, below_best)
    odds = Judge.shipped().members(inputs) + LESS_CLEAR
    probability = np.where(np.bincount(labels)[labels] == 1, 1, 1 / (1 + np.exp(-odds)))
    return Membership(probability.astype(np.float32), second)


def describe_rows(
    raw: View, enhanced: View, halves: tuple[Halves, Halves], labels: NDArray[np.int64], below_best: float
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return what is known of each row (n, 28), and its second choice by the enhanced features."""
    counts = np.bincount(labels)
    columns, second = [], np.full(len(labels), -1)
    for view in (raw, enhanced):
        a, b, second = similarity_to_clusters(view, labels, counts)
        same = labels[view.indices] == labels[:, None]
        gap = view.gap(a, b)
        columns += [view.units(a), view.units(b), gap]
        columns += [same[:, :nearest].mean(axis=1) for nearest in NEAREST]
        columns += [(np.bincount(labels, gap) / counts)[labels], np.full(len(labels), gap.mean())]
    size = counts[labels]
    of_set = [
        below_best,
        np.log(len(labels)),
        np.log(len(counts) / len(labels)),
        (size == 1).mean(),
        np.log(size).std(),
    ]
    columns += [
        *(kept for half in halves for kept in half.kept_together(labels).T),
        np.log(size),
        *(np.full(len(labels), value) for value in of_set),
    ]
    return np.nan_to_num(np.stack(columns, axis=1).astype(np.float32)), second
