"""The judge: which of many clusterings of a set is best, without labels.

Boosted trees predict from what is known of a clustering (`kinfolk.cluster._internal.candidates`) how far it is below
the best one of its set, in points of (pairwise F + BCubed F) / 2 and at most 20. They were trained on generated sets
only (research/judge_training.py).

What is predicted is rough, and the one candidate that is predicted best is often an outlier. So predictions of
neighbouring cuts of a tree, which are nearly the same clustering, are averaged; and each candidate counts as the truth
with the weight of its prediction, and the one that agrees best with all of these is taken:

    argmax_i  sum_j  w_j F(i, j),     w_j = exp(score_j / 0.1) / sum_l exp(score_l / 0.1)
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from kinfolk._core.boosted_trees import TYPES, BoostedTrees

# 2 points, chosen on the training parts: below 0.08 small sets with long tails lose 8 points, 0.12 is level
TEMPERATURE = 0.1
OWN_WEIGHT = 0.5  # of a cut's own prediction; its two neighbours share the rest
SHIPPED = Path(__file__).with_name("judge.safetensors")


class Judge(NamedTuple):
    """What was trained.

    Attributes
    ----------
    clusterings : what is known of a clustering (c, 48) -> minus its points below the best one, over 20: (c,).
    members : what is known of a row in its cluster (m, 28) -> log odds that it is of the class most rows are of: (m,).
    steepness : of the probability of a merge, by its similarity beyond the cut in units of strangers.
    """

    clusterings: BoostedTrees
    members: BoostedTrees
    steepness: float

    @classmethod
    def shipped(cls) -> Judge:
        """Return the judge that comes with the package.

        >>> Judge.shipped() is Judge.shipped()
        True
        """
        return _shipped()


def over_neighboring_cuts(score: NDArray[np.floating], trees: NDArray[np.integer]) -> NDArray[np.floating]:
    """Return the scores of cuts (c,) averaged with those of the next finer and coarser cut of the same tree.

    trees: (c,) the tree of each cut; cuts of one stand together, fine to coarse.

    >>> over_neighboring_cuts(np.array([0.0, 4.0, 8.0, 2.0]), np.array([0, 0, 0, 1])).tolist()
    [1.0, 4.0, 7.0, 2.0]
    """
    result = np.array(score, dtype=np.float64)
    for tree in np.unique(trees):
        own = np.pad(result[trees == tree], 1, mode="edge")
        result[trees == tree] = OWN_WEIGHT * own[1:-1] + (1 - OWN_WEIGHT) / 2 * (own[:-2] + own[2:])
    return result


def most_agreed(score: NDArray[np.floating], agree: NDArray[np.floating]) -> int:
    """Return the candidate that agrees best with those that are likely: score (c,), agree (c, c).

    >>> most_agreed(np.array([-0.10, -0.11, -0.12]), np.array([[1, 0.2, 0.2], [0.2, 1, 0.9], [0.2, 0.9, 1]]))
    1
    """
    weight = np.exp((score - score.max()) / TEMPERATURE)
    return int((agree @ weight).argmax())


@cache
def _shipped() -> Judge:
    tensors = load_file(SHIPPED)
    trees = {
        part: BoostedTrees({name: tensors[f"{part}.{name}"] for name in TYPES}) for part in ("clusterings", "members")
    }
    return Judge(trees["clusterings"], trees["members"], float(tensors["steepness"][0]))
