"""How near rows are to clusters, in units of how similar strangers are: so similarities mean the same on any data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel, over_spans
from kinfolk.cluster._internal.means import sums_of

MOST_CLUSTERS = 12  # around a row that are compared with its own
RANDOM_PAIRS = 20_000


class Strangers(NamedTuple):
    """How similar two rows are that have nothing to do with each other.

    middle: the median over random pairs; spread: how far the lower sixth is below it. Kin are few among random pairs
    and above the middle: however large classes are, they change both less than mean and standard deviation.
    """

    middle: float
    spread: float


class View(NamedTuple):
    """Some rows and their neighbours.

    Shapes: X (n, d) rows of length one; rows (m,) those that are looked at; indices, similarities (m, k) their
    neighbours; strangers: how similar any two of the n are.
    """

    X: NDArray[np.float32]
    rows: NDArray[np.int64]
    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]
    strangers: Strangers

    def gap(self, a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return how far a is above b, as a share of what there is above strangers."""
        return (a - b) / max(1 - self.strangers.middle, self.strangers.spread)

    def units(self, similarity: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return similarities in units of strangers."""
        return (similarity - self.strangers.middle) / self.strangers.spread


def random_rows(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of different ones of n rows, always the same for the same n."""
    one, other = np.random.default_rng(0).integers(0, n, (2, RANDOM_PAIRS))
    different = one != other
    return one[different], other[different]


def strangers_of(X: NDArray[np.float32]) -> Strangers:
    """Return how similar strangers are among rows (n, d) of length one.

    >>> strangers_of(np.eye(4, dtype=np.float32)).middle
    0.0
    """
    one, other = random_rows(len(X))
    low, middle = np.percentile(np.einsum("ij,ij->i", X[one], X[other]), (16, 50))
    return Strangers(float(middle), float(middle - low) + 1e-4)  # rows that are all alike have no spread


def similarity_to_clusters(
    view: View, labels: NDArray[np.int64], counts: NDArray[np.int64], sums: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Return a and b (m,) and the cluster of b (m,).

    For a row alone a is the similarity of its nearest; without another cluster b is that of strangers, the cluster -1.
    """
    rows, X = view.rows, view.X
    sums = sums_of(X, labels, len(counts)) if sums is None else sums
    own, mine = counts[labels[rows]], X[rows]
    a = (np.einsum("ij,ij->i", sums[labels[rows]], mine) - 1) / np.maximum(own - 1, 1)
    a = np.where(own == 1, view.similarities.max(axis=1), a)
    b = np.empty(len(rows), dtype=np.float32)
    which = np.full(len(rows), -1, dtype=np.int64)
    arguments = (view.indices, labels, labels[rows], sums, counts.astype(np.float32), mine, b, which)
    over_spans(lambda first, last: _best_other(first, last, *arguments), len(rows))
    return a, np.where(b < -1.5, np.float32(view.strangers.middle), b), which


@kernel(fastmath={"reassoc", "contract"})
def _best_other(
    first: int,
    last: int,
    indices: NDArray[np.int32],
    labels: NDArray[np.int64],
    own: NDArray[np.int64],
    sums: NDArray[np.float32],
    counts: NDArray[np.float32],
    X: NDArray[np.float32],
    best: NDArray[np.float32],
    which: NDArray[np.int64],
) -> None:
    tried = np.empty(MOST_CLUSTERS, np.int64)
    for i in range(first, last):
        best[i], count = -2, 0
        for a in range(indices.shape[1]):
            c = labels[indices[i, a]]
            new = c != own[i]
            for e in range(count):
                new = new and tried[e] != c
            if not new:
                continue
            tried[count] = c
            count += 1
            similarity = np.float32(0)
            for column in range(X.shape[1]):
                similarity += sums[c, column] * X[i, column]
            if similarity / counts[c] > best[i]:
                best[i], which[i] = similarity / counts[c], c
            if count == MOST_CLUSTERS:
                break
