"""The judge: which of many clusterings of a set is best, without labels.

Boosted trees predict from what is known of a clustering (`kinfolk.cluster._internal.candidates`) how far it is below
the best one of its set, in points of (pairwise F + BCubed F) / 2 and at most 20. They were trained on generated sets
only (research/judge_training.py).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from safetensors.numpy import load_file

from kinfolk._core.boosted_trees import TYPES, BoostedTrees

SHIPPED = Path(__file__).with_name("judge.safetensors")


class Judge(NamedTuple):
    """What was trained.

    Attributes
    ----------
    clusterings : what is known of a clustering (c, 142) -> minus its points below the best one, over 20: (c,).
    members : what is known of a row in its cluster (m, 24) -> log odds that it is of the class most rows are of: (m,).
    steepness : of the probability of a merge, by its similarity beyond the cut in units of pairs of any two rows.
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


@cache
def _shipped() -> Judge:
    tensors = load_file(SHIPPED)
    trees = {
        part: BoostedTrees({name: tensors[f"{part}.{name}"] for name in TYPES}) for part in ("clusterings", "members")
    }
    return Judge(trees["clusterings"], trees["members"], float(tensors["steepness"][0]))
