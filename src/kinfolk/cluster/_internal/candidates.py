r"""Candidate clusterings of a set, and what a judge knows about each.

    cuts of average-linkage trees of three kinds of features, at numbers of clusters that fall by a factor of 1.4:
    the given features, the enhanced ones, and both side by side (their similarity is the mean of both)
    the groups of the kinship graph

Trees follow classes of any size but need a height to be cut at; the kinship graph finds balanced classes best. For each
candidate there are 48 numbers without labels: what two halves of the given and of the enhanced features say of it
(`kinfolk.cluster._internal.halves`), what the tests of edges say (`kinfolk.cluster._internal.kin_edges`), how well it
agrees with the other trees, where it comes from, the height of its tree there in units of strangers, the sizes of its
clusters, and how similar any two rows are before their mean is taken away, since a single class is nothing but its
mean. No other depends on what a similarity is worth in these features, which differs from one network to the next.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.union_find import connected

if TYPE_CHECKING:
    from kinfolk.cluster._internal.halves import Halves
    from kinfolk.cluster._internal.kin_edges import KinEdges

RAW, BOTH, ENHANCED, KINSHIP = range(4)
TREES = (RAW, BOTH, ENHANCED)
FINEST = 0.97  # of the rows: nearly all alone
STEP = 1.4  # from one number of clusters to the next; the slope of a tree is read over as much to either side
ROWS_COMPARED = 1024  # of two clusterings
HOPS = {BOTH: 2, ENHANCED: 5}  # of the propagation that makes their features
SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
FIRST_SOURCE = 21  # of the four columns that say where a candidate comes from
COUNT = 48


class Candidate(NamedTuple):
    """A clustering (n,), numbered 0, 1, 2, ...; where it comes from; after how many merges, or for kinship groups k.

    height, slope: of the tree at the cut, in units of strangers; 0 without a tree.
    """

    labels: NDArray[np.int64]
    source: int
    merges: int = 0
    height: float = 0.0
    slope: float = 0.0


def numbers_of_clusters(n: int) -> list[int]:
    """Return the numbers of clusters at which trees of n rows are cut, falling.

    >>> numbers_of_clusters(20)
    [19, 14, 10, 7, 5, 4, 3, 2, 1]
    """
    most = max(1.0, FINEST * n)
    levels = math.ceil(math.log(most) / math.log(STEP)) + 1
    return sorted({round(float(level)) for level in np.geomspace(1, most, levels)}, reverse=True)


def cuts(merges: Merges, n: int, source: int, strangers: tuple[float, float] = (0.0, 1.0)) -> list[Candidate]:
    """Return the cuts of a tree of n rows, fine to coarse; strangers: their middle and
    spread."""
    heights = (np.append(merges.similarity, merges.similarity[-1:]).astype(np.float64) - strangers[0]) / strangers[1]

    def height(clusters: float) -> float:
        return float(heights[np.clip(n - round(clusters), 0, len(heights) - 1)]) if len(heights) else 0.0

    result = []
    for wanted in numbers_of_clusters(n):
        count = min(n - wanted, len(merges.left))
        labels = clusters_after(merges.split(count)[0], np.arange(n))
        slope = height((n - count) * STEP) - height((n - count) / STEP)
        result.append(Candidate(labels, source, count, height(n - count), slope))
    return result


def clusters_after(merges: Merges, together: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the clusters (n,), numbered 0, 1, 2, ..., after merges of rows of which some were together before.

    >>> clusters_after(Merges(np.array([0]), np.array([3]), np.array([0.5])), np.array([0, 1, 0, 2]))
    array([0, 1, 0, 0])
    """
    first = np.unique(together, return_index=True)[1]
    left = np.concatenate([np.arange(len(together)), merges.left])
    right = np.concatenate([first[together], merges.right])
    _, labels = np.unique(connected(len(together), left, right), return_inverse=True)
    return labels.astype(np.int64, copy=False)


def describe(
    candidates: list[Candidate],
    trees: list[Candidate],
    halves: tuple[Halves, Halves],
    edges: KinEdges,
    common: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what is known of each candidate, (c, 48), and how well it agrees with the cuts of all trees, (c, t).

    halves: of the given and of the enhanced features; common: the mean cosine of any two rows as they were given.
    """
    source = sources(candidates)
    agree = agreement(candidates, trees)
    best = _best_of_other_trees(agree, source, sources(trees))
    own = np.stack([source == kind for kind in (RAW, BOTH, ENHANCED, KINSHIP)], axis=1)
    rest = [(c.height, c.slope, *_sizes(c.labels)) for c in candidates]
    of_halves = [half.describe(candidates) for half in halves]
    everywhere = np.full((len(candidates), 1), common)
    seen = np.concatenate([*of_halves, best, own, rest, edges.describe(candidates), everywhere], axis=1)
    return seen.astype(np.float32), agree


def _sizes(labels: NDArray[np.int64]) -> list[float]:
    """Return what is known of the sizes of clusters (n,): 14 numbers."""
    counts, n = np.bincount(labels), len(labels)
    own = counts[labels]
    logs = np.log(own)
    shares = [float((own <= size).mean()) for size in (1, *SIZES)]
    return [np.log(n), np.log(len(counts) / n), *shares, logs.mean(), logs.std(), counts.max() / n]


def sources(candidates: list[Candidate]) -> NDArray[np.int64]:
    """Return where candidates come from, (c,)."""
    return np.array([candidate.source for candidate in candidates])


def agreement(candidates: list[Candidate], others: list[Candidate]) -> NDArray[np.float32]:
    """Return how well candidates agree with others, (c, o): the mean of pairwise and BCubed F on 1,024 rows."""
    rows = np.random.default_rng(0).permutation(len(others[0].labels))[:ROWS_COMPARED]
    left, right = ([_numbered(candidate.labels[rows]) for candidate in side] for side in (candidates, others))
    result = np.empty((len(left), len(right)), dtype=np.float32)
    same = candidates is others

    def compare(i: int) -> None:
        for j in range(i if same else 0, len(right)):
            result[i, j] = _agreement(left[i], right[j])

    deal(compare, range(len(left)))
    return np.triu(result) + np.triu(result, 1).T if same else result


def _best_of_other_trees(
    agree: NDArray[np.float32], source: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the agreement with the most similar cut of each of the three trees, (c, 3).

    That with the own tree is 1, as is that with a tree that was not grown.
    """
    result = np.ones((len(agree), len(TREES)), dtype=np.float32)
    for place, kind in enumerate(TREES):
        if (others == kind).any():
            result[:, place] = np.where(source == kind, 1, agree[:, others == kind].max(axis=1))
    return result


def _numbered(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


@kernel()
def _agreement(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return the mean of pairwise and BCubed F of two clusterings (m,), numbered 0, 1, 2, ..."""
    m = len(one)  # two of loners only have no pairs: their pairwise F is 1
    a, b = np.bincount(one).astype(np.float64), np.bincount(other).astype(np.float64)
    cells = np.sort(one * len(b) + other)
    together, precision, recall = 0.0, 0.0, 0.0
    start = 0
    for end in range(1, m + 1):
        if end == m or cells[end] != cells[start]:
            c = float(end - start)
            together += c * (c - 1)
            precision += c * c / b[cells[start] % len(b)]
            recall += c * c / a[cells[start] // len(b)]
            start = end
    pairs = (a * (a - 1)).sum() + (b * (b - 1)).sum()
    pairwise = 2 * together / pairs if pairs > 0 else 1.0
    return (pairwise + 2 * precision * recall / (precision + recall) / m) / 2
