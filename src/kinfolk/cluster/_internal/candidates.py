r"""Candidate clusterings of a set, and what a judge knows about each.

    cuts of average-linkage trees at 20 numbers of clusters from 0.97 n to 1, of three kinds of features:
    the given ones, the enhanced ones, and both side by side (their similarity is the mean of both)
    the groups of the kinship graph, at two k

Trees follow classes of any size but need a height to be cut at; the kinship graph finds balanced classes best. For each
candidate there are 302 numbers without labels: its facts seen from the given and from the enhanced features
(`kinfolk.cluster._internal.facts`), what two halves of the features say of it (`kinfolk.cluster._internal.halves`), how
well it agrees with candidates of other origin, where it comes from, the height of its tree there, and how its facts
differ from those of the average cut: sets differ more than their cuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal
from kinfolk.cluster._internal.facts import Scene, facts
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.means import sums_of
from kinfolk.cluster._internal.union_find import connected

if TYPE_CHECKING:
    from kinfolk.cluster._internal.halves import Halves

RAW, BOTH, ENHANCED, KINSHIP = range(4)
TREES = (RAW, BOTH, ENHANCED)
LEVELS = 20  # of each tree: neighbouring cuts then differ by a factor of 1.4 at 1,000 rows
FINEST = 0.97  # of the rows: nearly all alone
STEP = 1.4  # the slope of a tree is read over a change of the number of clusters by so much to either side
ROWS_COMPARED = 1024  # of two clusterings
HOPS = {BOTH: 2, ENHANCED: 5}  # of the propagation that makes their features
FACTS, OF_HALVES = 142, 9
COUNT = FACTS + OF_HALVES + 9
JUDGED = COUNT + FACTS
FIRST_SOURCE = FACTS + OF_HALVES + len(TREES)  # of the four columns that say where a candidate comes from


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

    >>> numbers_of_clusters(8)
    [8, 7, 6, 5, 4, 3, 2, 1]
    """
    return sorted({round(float(level)) for level in np.geomspace(1, max(1, FINEST * n), LEVELS)}, reverse=True)


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
    candidates: list[Candidate], trees: list[Candidate], halves: Halves, raw: Scene, enhanced: Scene
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what is known of each candidate, (c, 160), and how well it agrees with the cuts of all trees, (c, t).

    Cuts of one tree must stand together, fine to coarse.
    """
    source = sources(candidates)
    seen = np.empty((len(candidates), COUNT), dtype=np.float32)

    def look(group: NDArray[np.int64]) -> None:
        for at, found in zip(group, _facts_of([candidates[i] for i in group], raw, enhanced), strict=True):
            seen[at, :FACTS] = found

    deal(look, [np.flatnonzero(source == kind) for kind in np.unique(source)])
    agree = agreement(candidates, trees)
    best = _best_of_other_trees(agree, source, sources(trees))
    own = np.stack([source == kind for kind in (RAW, BOTH, ENHANCED, KINSHIP)], axis=1)
    cut = np.array([(candidate.height, candidate.slope) for candidate in candidates])
    seen[:, FACTS:] = np.concatenate([halves.describe(candidates), best, own, cut], axis=1)
    return seen, agree


def beside_the_average(
    seen: NDArray[np.float32], source: NDArray[np.int64], cuts: NDArray[np.float32], trees: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return what a judge reads, (c, 302): what is known of candidates (c, 160), and their facts less those of cuts.

    cuts: (t, 160) what is known of the cuts of all trees; trees (t,) where these come from. A cut is compared with the
    average one of its tree, kinship groups with the average of all.

    >>> beside_the_average(np.ones((1, 160)), np.array([RAW]), np.ones((2, 160)), np.array([RAW, BOTH])).shape
    (1, 302)
    """
    average = np.tile(cuts[:, :FACTS].mean(axis=0), (len(seen), 1))
    for kind in np.unique(trees):
        average[source == kind] = cuts[trees == kind, :FACTS].mean(axis=0)
    return np.concatenate([seen, seen[:, :FACTS] - average], axis=1).astype(np.float32)


def sources(candidates: list[Candidate]) -> NDArray[np.int64]:
    """Return where candidates come from, (c,)."""
    return np.array([candidate.source for candidate in candidates])


def _facts_of(candidates: list[Candidate], raw: Scene, enhanced: Scene) -> list[NDArray[np.float32]]:
    """Return the facts of candidates of one source, (142,) each."""
    result = []
    every = np.arange(len(raw.view.X))
    before, sums = every, (raw.view.X, enhanced.view.X)
    for candidate in candidates:
        first = np.empty(int(before.max()) + 1, dtype=np.int64)
        first[before] = every  # a row of each cluster before
        sums_now = [sums_of(part, candidate.labels[first], int(candidate.labels.max()) + 1) for part in sums]
        found = [facts(seen, candidate.labels, part) for seen, part in zip((raw, enhanced), sums_now, strict=True)]
        result.append(np.concatenate(found))
        if candidate.source != KINSHIP:  # each cut of a tree is made of whole clusters of the one before
            before, sums = candidate.labels, (sums_now[0], sums_now[1])
    return result


def agreement(candidates: list[Candidate], others: list[Candidate]) -> NDArray[np.float32]:
    """Return how well candidates agree with others, (c, o): the mean of pairwise and BCubed F on 1,024 rows."""
    rows = np.random.default_rng(0).permutation(len(others[0].labels))[:ROWS_COMPARED]
    left, right = ([_numbered(candidate.labels[rows]) for candidate in side] for side in (candidates, others))
    result = np.empty((len(left), len(right)), dtype=np.float32)

    def compare(i: int) -> None:
        for j, other in enumerate(right):
            result[i, j] = _agreement(left[i], other)

    deal(compare, range(len(left)))
    return result


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
