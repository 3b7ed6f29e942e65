"""The generated sets that replace the paper's data sets where these are not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from kinfolk.datasets import celeb_like, person_like, vehicle_like
from kinfolk.experiments.feature_methods import GCN, GCN_SELF, TRANSFORMER
from kinfolk.experiments.resume import LARGEST_PART, Data, labels_of
from kinfolk.features import FeatureSet

Size = Literal["quick", "usual", "full"]
GENERATORS = {"celeb_like": celeb_like, "person_like": person_like, "vehicle_like": vehicle_like}


class GeneratedSet(NamedTuple):
    """A generator, the paper's set it replaces, and its identities for each size.

    k           of the encoders with band attention, for each size; the paper's own except for quick
    baseline_k  of the other encoders: the paper tunes each for its best. It names them for persons and vehicles; those
                of celebrities are best on held-back halves of a training part that is not used here (seed 7)
    """

    regime: str
    paper_data: str
    identities: Mapping[Size, int]
    k: Mapping[Size, int]
    baseline_k: Mapping[str, int]

    def k_of(self, method: str, size: Size) -> int:
        """Return the k of an encoder.

        >>> [GENERATED_SETS[PERSONS].k_of(method, "usual") for method in ("GCN", "GCN w/ band")]
        [10, 30]
        """
        return self.baseline_k.get(method, self.k[size])

    def generate(self, identities: int, seed: int) -> FeatureSet:
        """Return a set of this many identities, with the parts train and test."""
        return GENERATORS[self.regime](identities, seed=seed)


CELEBRITIES, PERSONS, VEHICLES = (f"{regime} (generated)" for regime in GENERATORS)
GENERATED_SETS = {
    CELEBRITIES: GeneratedSet(
        "celeb_like",
        "ms-celeb",
        dict(quick=24, usual=96, full=1000),
        dict(quick=40, usual=120, full=120),
        {GCN: 5, GCN_SELF: 5, TRANSFORMER: 10},
    ),
    PERSONS: GeneratedSet(
        "person_like",
        "msmt17",
        dict(quick=40, usual=200, full=1000),
        dict(quick=20, usual=30, full=30),
        {GCN: 10, GCN_SELF: 10, TRANSFORMER: 20},
    ),
    VEHICLES: GeneratedSet(
        "vehicle_like",
        "veri-776",
        dict(quick=24, usual=120, full=200),
        dict(quick=40, usual=80, full=80),
        {GCN: 20, GCN_SELF: 20, TRANSFORMER: 20},
    ),
}
# identities of part 1 of Table 6; part 9 has nine times as many
PART_1_IDENTITIES: Mapping[Size, int] = dict(quick=4, usual=24, full=200)


def paper_sets(data: str) -> tuple[str, ...]:
    """Return the sets of the paper whose numbers are shown beside a set: the one it replaces, or all three.

    >>> paper_sets(PERSONS), len(paper_sets("market1501"))
    (('msmt17',), 3)
    """
    if data in GENERATED_SETS:
        return (GENERATED_SETS[data].paper_data,)
    return tuple(generated.paper_data for generated in GENERATED_SETS.values())


@lru_cache(maxsize=8)
def generated_set(name: str, seed: int, size: Size) -> Data:
    """Return a generated set in its two parts.

    >>> generated_set(PERSONS, 0, "quick").test
    FeatureSet(614 x 256, 20 classes, 15 cameras, 99 queries, parts test 614)
    """
    generated = GENERATED_SETS[name]
    return Data.of(generated.generate(generated.identities[size], seed))


@lru_cache(maxsize=2)
def growing_set(name: str, seed: int, size: Size) -> Data:
    """Return the generated faces for Table 6: a small training part, a test part of nine times part 1's identities.

    >>> data = growing_set(CELEBRITIES, 0, "quick")
    >>> len(data.grown(1)) < len(data.grown(9)) == len(data.test)
    True
    """
    generated = GENERATED_SETS[name]
    both = generated.generate(2 * LARGEST_PART * PART_1_IDENTITIES[size], seed)
    train = both.part("train")
    labels = labels_of(train)
    learned = sorted(set(labels.tolist()))[: generated.identities[size] // 2]
    return Data(train.take(labels <= learned[-1]), both.part("test"))
