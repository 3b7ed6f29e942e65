"""The generated regimes that stand for the paper's data sets where these are not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from kinfolk import datasets
from kinfolk.experiments.resume import PARTS, Data

Size = Literal["quick", "usual", "full"]


class Stand(NamedTuple):
    """A regime: the paper's set it stands for, its identities, the k of Table 2 and all k of Figure 3, for each size.

    The usual and the full size have the paper's own k.
    """

    regime: str
    paper_data: str
    identities: Mapping[Size, int]
    k: Mapping[Size, int]
    ks: Mapping[Size, tuple[int, ...]]


CELEBRITIES, PERSONS, VEHICLES = (f"{regime}_like (generated)" for regime in ("celeb", "person", "vehicle"))
_MANY_K = (5, 10, 20, 40, 80, 120, 160)
STANDS = {
    CELEBRITIES: Stand(
        "celeb_like",
        "ms-celeb",
        dict(quick=24, usual=96, full=1000),
        dict(quick=40, usual=120, full=120),
        dict(quick=(5, 20, 80), usual=_MANY_K, full=_MANY_K),
    ),
    PERSONS: Stand(
        "person_like",
        "msmt17",
        dict(quick=40, usual=200, full=1000),
        dict(quick=20, usual=30, full=30),
        dict(quick=(5, 20, 40), usual=(5, 10, 20, 40, 80), full=(5, 10, 20, 40, 80)),
    ),
    VEHICLES: Stand(
        "vehicle_like",
        "veri-776",
        dict(quick=24, usual=120, full=200),
        dict(quick=40, usual=80, full=80),
        dict(quick=(5, 20, 80), usual=_MANY_K, full=_MANY_K),
    ),
}
# of part 1; part 9 has nine times as many
SCALED_IDENTITIES: Mapping[Size, int] = dict(quick=4, usual=24, full=200)


@lru_cache(maxsize=8)
def stand_in(name: str, seed: int, size: Size) -> Data:
    """Return a generated regime in its two parts.

    >>> stand_in(PERSONS, 0, "quick").test
    FeatureSet(614 x 256, 20 classes, 15 cameras, 99 queries, parts test 614)
    """
    stand = STANDS[name]
    return Data.of(getattr(datasets, stand.regime)(stand.identities[size], seed=seed))


@lru_cache(maxsize=2)
def growing(name: str, seed: int, size: Size) -> Data:
    """Return the generated faces for Table 6: a test part of nine times the identities of part 1, few to learn from.

    >>> data = growing(CELEBRITIES, 0, "quick")
    >>> len(data.grown(1)) < len(data.grown(9)) == len(data.test)
    True
    """
    both = getattr(datasets, STANDS[name].regime)(2 * PARTS * SCALED_IDENTITIES[size], seed=seed)
    learned = STANDS[name].identities[size] // 2
    train = both.part("train")
    assert train.labels is not None
    return Data(train.take(train.labels < sorted(set(train.labels.tolist()))[learned]), both.part("test"))
