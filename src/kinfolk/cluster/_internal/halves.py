r"""Two halves of the features, each with a tree of its own: where they agree, the clusters are no accident.

    x R = (one half, the other),     R = flipped signs, a cosine transform and shuffled columns: an orthogonal map

Each half holds about as much of every direction as the other, and its similarities are those of the whole with some
noise. As long as clusters are parts of classes, both trees find nearly the same ones; once classes must be joined, it
is the noise that says which, and the trees part. So the coarsest clusters that both find alike are about the classes,
whatever their sizes, and whatever similarities mean in these features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from kinfolk._core.rows import of_length_one
from kinfolk._core.threads import deal
from kinfolk.cluster._internal.agglomerate import agglomerate
from kinfolk.cluster._internal.candidates import Candidate, agreement, cuts
from kinfolk.cluster._internal.spaces import TREE_NEIGHBORS
from kinfolk.cluster._internal.views import random_rows
from kinfolk.neighbors import NeighborGraph
from kinfolk.neighbors.ranked import ranked

NEIGHBORS = 64  # of the whole, among which a half finds its own
AROUND = (-2.0, -1.0, 0.0, 1.0, 2.0)  # powers of two times the number of clusters at which the halves are compared
COUNT = 2 + len(AROUND) + 2


class Halves(NamedTuple):
    """The cuts of both trees; their agreement (levels,) at numbers of clusters (levels,), falling; and their noise.

    noise: 1 less the correlation, over random pairs, of the similarities in both halves.
    """

    cuts: tuple[list[Candidate], list[Candidate]]
    clusters: NDArray[np.float64]
    alike: NDArray[np.float64]
    noise: float

    def kept_together(self, labels: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return for each row (n, 2), mean of both halves, how much its cluster and that of the half have in common.

        As a share of the cluster of `labels` (n,), and as a share of that of the half, in the cut that agrees best.
        """
        result = np.zeros((len(labels), 2), dtype=np.float32)
        for half in self.cuts:
            best = half[int(agreement([Candidate(labels, 0)], half)[0].argmax())].labels
            _, cell, count = np.unique(labels * len(labels) + best, return_inverse=True, return_counts=True)
            common = count[cell]
            result += np.stack([common / np.bincount(labels)[labels], common / np.bincount(best)[best]], axis=1) / 2
        return result

    def describe(self, candidates: list[Candidate]) -> NDArray[np.float32]:
        """Return what the halves say of each candidate, (c, 9).

        The agreement with the best cut of each half, the lower and the higher; that of the halves with each other at
        1/4 to 4 times as many clusters; how far it is below the best among finer cuts; and the noise.
        """
        both = np.stack([agreement(candidates, half).max(axis=1) for half in self.cuts], axis=1)
        own = np.log([candidate.labels.max() + 1.0 for candidate in candidates])
        levels = np.log(self.clusters)
        around = own[:, None] + np.log(2) * np.array(AROUND)
        alike = np.interp(around, levels[::-1], self.alike[::-1])
        best_finer = np.maximum.accumulate(self.alike)
        below = alike[:, 2] - np.interp(own, levels[::-1], best_finer[::-1])
        rest = np.stack([below, np.full(len(own), self.noise)], axis=1)
        return np.concatenate([np.sort(both, axis=1), alike, rest], axis=1).astype(np.float32)


def halves_of(C: NDArray[np.float32], g: NeighborGraph) -> Halves:
    """Return the halves of rows (n, d) of length one; g: their graph, among whose neighbours each half ranks its own.

    >>> import kinfolk as kf
    >>> X = np.repeat(np.eye(8, dtype=np.float32), 4, axis=0) + np.float32(0.01)
    >>> found = halves_of(X, kf.knn_graph(X, 12))
    >>> [len(half) for half in found.cuts] == [len(found.alike)] * 2
    True
    """
    parts = split(C)
    grown = deal(lambda part: agglomerate(part, ranked(part, g, TREE_NEIGHBORS, NEIGHBORS).indices), parts)
    one, other = (cuts(merges, len(C), 0) for merges in grown)
    alike = np.array([_same_level(a, b) for a, b in zip(one, other, strict=False)])
    clusters = np.array([c.labels.max() + 1.0 for c, _ in zip(one, alike, strict=False)])
    return Halves((one, other), clusters, alike, _noise(parts))


def split(C: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Return both halves (n, d // 2) of rows (n, d), of length one; a single column is its own half.

    >>> [half.shape for half in split(np.eye(5, dtype=np.float32))]
    [(5, 2), (5, 2)]
    """
    d = C.shape[1]
    if d == 1:
        return [C, C]
    rng = np.random.default_rng(0)
    signs = rng.choice(np.array([-1, 1], dtype=np.float32), d)
    turned = dct(C * signs, axis=1, norm="ortho")[:, rng.permutation(d)]
    return [of_length_one(np.ascontiguousarray(turned[:, half::2][:, : d // 2])) for half in (0, 1)]


def _same_level(one: Candidate, other: Candidate) -> float:
    return float(agreement([one], [other])[0, 0])


def _noise(parts: list[NDArray[np.float32]]) -> float:
    one, other = random_rows(len(parts[0]))
    first, second = (np.einsum("ij,ij->i", part[one], part[other]) for part in parts)
    spread = first.std() * second.std()
    return float(1 - ((first - first.mean()) * (second - second.mean())).mean() / spread) if spread > 0 else 0.0
