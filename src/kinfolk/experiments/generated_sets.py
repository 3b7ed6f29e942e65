"""The generated regimes that stand for the paper's data sets where these are not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from kinfolk import datasets
from kinfolk.experiments.feature_methods import GCN, GCN_SELF, TRANSFORMER
from kinfolk.experiments.resume import PARTS, Data

Size = Literal["quick", "usual", "full"]


class Stand(NamedTuple):
    """A regime: the paper's set it stands for, and its identities for each size.

    k           of the forms with band attention, for each size; the paper's own but for quick
    baseline_k  of the other forms: the paper tunes each for its best. It names them for persons and vehicles; those of
                celebrities are best on held-back halves of a training part that is not used here (seed 7)
    """

    regime: str
    paper_data: str
    identities: Mapping[Size, int]
    k: Mapping[Size, int]
    baseline_k: Mapping[str, int]

    def k_of(self, form: str, size: Size) -> int:
        """Return the k of a form.

        >>> [STANDS[PERSONS].k_of(form, "usual") for form in ("GCN", "GCN w/ band")]
        [10, 30]
        """
        return self.baseline_k.get(form, self.k[size])


CELEBRITIES, PERSONS, VEHICLES = (f"{regime}_like (generated)" for regime in ("celeb", "person", "vehicle"))
STANDS = {
    CELEBRITIES: Stand(
        "celeb_like",
        "ms-celeb",
        dict(quick=24, usual=96, full=1000),
        dict(quick=40, usual=120, full=120),
        {GCN: 5, GCN_SELF: 5, TRANSFORMER: 10},
    ),
    PERSONS: Stand(
        "person_like",
        "msmt17",
        dict(quick=40, usual=200, full=1000),
        dict(quick=20, usual=30, full=30),
        {GCN: 10, GCN_SELF: 10, TRANSFORMER: 20},
    ),
    VEHICLES: Stand(
        "vehicle_like",
        "veri-776",
        dict(quick=24, usual=120, full=200),
        dict(quick=40, usual=80, full=80),
        {GCN: 20, GCN_SELF: 20, TRANSFORMER: 20},
    ),
}
# of part 1; part 9 has nine times as many
SCALED_IDENTITIES: Mapping[Size, int] = dict(quick=4, usual=24, full=200)


def paper_sets(data: str) -> tuple[str, ...]:
    """Return the sets of the paper whose numbers stand beside a set: the one it stands for, or all three.

    >>> paper_sets(PERSONS), len(paper_sets("market1501"))
    (('msmt17',), 3)
    """
    return (STANDS[data].paper_data,) if data in STANDS else tuple(stand.paper_data for stand in STANDS.values())


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
