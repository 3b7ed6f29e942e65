"""What a user knows changes clusters that were found without it.

Candidates and their trees are made as if nothing were known: a judge that has only seen free clusterings would take the
traces of constraints for bad ones. Then

    votes   a candidate loses by the share of answers it violates, the more the more answers there are
    must    the tree is grown again with the rows that are together as one, and cut at the same height
    cannot  of two rows in one cluster that are kept apart the one less similar to the cluster leaves it, for the most
            similar cluster where nobody speaks against it and which is similar enough, or to be alone
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster._internal.constraints import Constraints
from kinfolk.cluster._internal.means import sums_of

ANSWERS_AS_SURE_AS_THE_JUDGE = 50  # with so many, half of the share that a candidate violates counts


def violated(labels: NDArray[np.integer], known: Constraints) -> float:
    """Return how much clusters (n,) speak against what is known: the share of answers, less where they are few.

    >>> known = Constraints(np.array([0, 0, 1, 2]), np.array([[0, 1]]))
    >>> round(violated(np.array([0, 1, 1, 2]), known) * (2 + 50), 2), violated(np.array([0, 0, 1, 2]), known)
    (1.0, 0.0)
    """
    first = np.unique(known.together, return_index=True)[1]
    head = first[known.together]
    linked = head != np.arange(len(labels))
    one, other = first[known.apart].T
    answers = int(linked.sum()) + len(known.apart)
    wrong = (labels[linked] != labels[head[linked]]).sum() + (labels[one] == labels[other]).sum()
    return float(wrong / (answers + ANSWERS_AS_SURE_AS_THE_JUDGE)) if answers else 0.0


def kept_apart(
    X: NDArray[np.float32], labels: NDArray[np.int64], known: Constraints, least: float
) -> NDArray[np.int64]:
    """Return clusters (n,) in which nobody is with a row that is known to be of another class, numbered 0, 1, 2, ...

    Parameters
    ----------
    X : (n, d) of length one.
    labels : (n,) numbers 0, 1, 2, ...; rows that are together are in one cluster.
    least : the mean similarity to a cluster below which nobody joins it.

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> kept_apart(X, np.array([0, 0, 0, 1]), Constraints(np.arange(4), np.array([[0, 2]])), 0.5)
    array([0, 0, 1, 1])
    """
    labels = labels.copy()
    members = {unit: np.flatnonzero(known.together == unit) for unit in np.unique(known.apart).tolist()}
    strangers: dict[int, set[int]] = {unit: set() for unit in members}
    for a, b in known.apart.tolist():
        strangers[a].add(b)
        strangers[b].add(a)
    sums = list(sums_of(X, labels, int(labels.max()) + 1).astype(np.float64))
    count = np.bincount(labels).tolist()

    def cluster(unit: int) -> int:
        return int(labels[members[unit][0]])

    def fit(unit: int) -> float:
        own, size = X[members[unit]].sum(axis=0, dtype=np.float64), len(members[unit])
        others = count[cluster(unit)] - size
        return float((sums[cluster(unit)] - own) @ own / (others * size)) if others else 1.0

    for a, b in known.apart.tolist():
        if cluster(a) != cluster(b):
            continue
        unit = min(a, b, key=fit)
        rows = members[unit]
        own = X[rows].sum(axis=0, dtype=np.float64)
        sums[cluster(unit)] = sums[cluster(unit)] - own
        count[cluster(unit)] -= len(rows)
        similarity = np.array(sums) @ own / (np.maximum(count, 1) * len(rows))
        similarity[[cluster(unit), *(cluster(stranger) for stranger in strangers[unit])]] = -np.inf
        similarity[np.array(count) == 0] = -np.inf
        best = int(similarity.argmax())
        if similarity[best] < least:
            best = len(sums)
            sums.append(np.zeros(X.shape[1]))
            count.append(0)
        labels[rows] = best
        sums[best] = sums[best] + own
        count[best] += len(rows)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64, copy=False)
