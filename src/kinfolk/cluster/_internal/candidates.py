r"""Candidate clusterings of a set, and what a judge knows about each.

    cuts of the average-linkage tree of the raw features, at 20 numbers of clusters from 1 to 0.97 n
    cuts of the tree of the enhanced features, likewise
    the groups of the kinship graph at one k

Trees follow classes of any size but need a height to be cut at; the kinship graph finds balanced classes best. For each
candidate there are 142 numbers without labels: its facts seen from the raw and from the enhanced features
(`kinfolk.cluster._internal.facts`), how well it agrees with the kinship groups and with the other tree, where it comes
from, and how its clusters compare with k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk.cluster._internal.constraints import Constraints
from kinfolk.cluster._internal.facts import Scene, agreement, facts
from kinfolk.cluster._internal.hierarchy import Merges
from kinfolk.cluster._internal.union_find import connected

LEVELS = 20  # of each tree: neighbouring cuts then differ by a factor of 1.4 at 1,000 rows
FINEST = 0.97  # of the rows: nearly all alone
RAW, ENHANCED, KINSHIP = range(3)
COUNT = 142


class Candidate(NamedTuple):
    """A clustering (n,), numbered 0, 1, 2, ...; where it comes from; for a cut, after how many merges."""

    labels: NDArray[np.int64]
    source: int
    merges: int


def numbers_of_clusters(n: int) -> list[int]:
    """Return the numbers of clusters at which trees of n rows are cut, falling.

    >>> numbers_of_clusters(8)
    [8, 7, 6, 5, 4, 3, 2, 1]
    """
    return sorted({round(float(level)) for level in np.geomspace(1, max(1, FINEST * n), LEVELS)}, reverse=True)


def cuts(merges: Merges, known: Constraints, source: int) -> list[Candidate]:
    """Return the cuts of a tree; rows that must be together are so before the first merge."""
    n = len(known.together)
    first = np.unique(known.together, return_index=True)[1]
    result = []
    for wanted in numbers_of_clusters(n):
        count = min(max(len(first) - wanted, 0), len(merges.left))
        left = np.concatenate([np.arange(n), merges.left[:count]])
        right = np.concatenate([first[known.together], merges.right[:count]])
        _, labels = np.unique(connected(n, left, right), return_inverse=True)
        result.append(Candidate(labels.astype(np.int64, copy=False), source, count))
    return result


def describe(candidates: list[Candidate], raw: Scene, enhanced: Scene, k: int) -> NDArray[np.float32]:
    """Return what is known of each candidate: (c, 142). k: that of the kinship groups, which are the last candidate."""
    n = len(candidates[0].labels)
    source = np.array([candidate.source for candidate in candidates])
    agree = agreement([candidate.labels for candidate in candidates])
    rows = []
    for i, (labels, own, _) in enumerate(candidates):
        others = agree[i][(source != own) & (source != KINSHIP)]
        size = np.bincount(labels)[labels]
        rows.append(
            np.concatenate(
                [
                    facts(raw, labels),
                    facts(enhanced, labels),
                    [agree[i, -1], others.max()],
                    [own == RAW, own == ENHANCED, own == KINSHIP],
                    [np.log(k), np.log(k / n), np.log(size).mean() - np.log(k)],
                ]
            )
        )
    return np.array(rows, dtype=np.float32)
