"""Tables 4 and 11 of the paper: re-identification, from features as given and enhanced, ranked again or not.

Queries and gallery are enhanced together, as one graph; labels of the test part are only for the score.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk import datasets, rerank
from kinfolk.experiments.forms import BAND, FORMS, LABEL_FREE, ORIGINAL, PAPER_FORMS, Method, Workshop
from kinfolk.experiments.resume import Data, labels_of
from kinfolk.experiments.task_cells import Found, Grid, Scored, Study, TaskCell, beside_the_paper, needed_seeds
from kinfolk.features import FeatureSet
from kinfolk.metrics import reid
from kinfolk.rerank.pool import Pool
from kinfolk.rerank.settings import neighbors_to_choose

SCORES = {"map": "mAP^R", "r1": "R1"}
PAPER_COLUMNS = {"msmt17_map": "MSMT17 mAP^R", "msmt17_r1": "R1", "veri776_map": "VeRi-776 mAP^R", "veri776_r1": "R1"}
LITERATURE = ", literature's settings"


@dataclass(frozen=True)
class Ranked:
    """The task of these tables: rank the gallery by a method of `kf.rerank.METHODS`.

    literature: with the settings of the literature (preset="paper") instead of those that follow the data.
    """

    method: str = "cosine"
    literature: bool = False

    def row(self, features: str) -> str:
        """Return the name of the row: the features alone where cosine ranks them."""
        ranked = "" if self.method == "cosine" else f" + {self.method.upper()}"
        return features + ranked + LITERATURE * self.literature

    def facts(self, data: Data) -> Mapping[str, Any]:
        """Return the method, and who asks whom under which cameras."""
        asked = np.packbits(query_rows(data.test)).tobytes()
        cameras = b"" if data.test.cameras is None else data.test.cameras.tobytes()
        return dict(
            method=self.method, literature=self.literature, protocol=hashlib.sha256(asked + cameras).hexdigest()[:16]
        )


NOT_RANKED_AGAIN = Ranked()
AGAIN = tuple(Ranked(method) for method in ("qe", "lbr", "kr", "ecn"))
AS_IN_THE_LITERATURE = tuple(Ranked(ranked.method, literature=True) for ranked in AGAIN)
GCN_BAND = PAPER_FORMS[-1]
# what the tables measure, in groups as the paper draws lines
ROWS: dict[str, list[list[tuple[Method, Ranked]]]] = {
    "table4": [
        [(form, NOT_RANKED_AGAIN) for form in FORMS],
        [(ORIGINAL, ranked) for ranked in AGAIN],
        [(ORIGINAL, ranked) for ranked in AS_IN_THE_LITERATURE],
    ],
    "table11": [
        [(form, NOT_RANKED_AGAIN) for form in (ORIGINAL, GCN_BAND, LABEL_FREE, BAND)],
        *([(form, ranked) for ranked in AGAIN] for form in (ORIGINAL, GCN_BAND, LABEL_FREE, BAND)),
    ],
}


def query_rows(fs: FeatureSet) -> NDArray[np.bool_]:
    """Return who asks: the set's own queries; without any, one item of each identity, drawn with seed 0.

    >>> rows = query_rows(FeatureSet(np.eye(6), labels=[1, 1, 1, 2, 2, 2]))
    >>> rows[:3].sum(), rows[3:].sum()
    (np.int64(1), np.int64(1))
    """
    if fs.query is not None and fs.query.any():
        return np.asarray(fs.query)
    shuffled = np.random.default_rng(0).permutation(len(fs))
    first = np.unique(labels_of(fs)[shuffled], return_index=True)[1]
    asking = np.zeros(len(fs), dtype=bool)
    asking[shuffled[first]] = True
    return asking


def class_scale(fs: FeatureSet) -> int:
    """Return the k that fits the classes of a test part, from its features as given: enhanced ones look too closed.

    >>> class_scale(persons(0, quick=True).test) > 5
    True
    """
    asking = query_rows(fs)
    return neighbors_to_choose(Pool(fs.features[asking], fs.features[~asking], show_progress=False))[1]


def reid_cells(table: str, data: Sequence[str], seeds: Sequence[int], data_is_generated: bool) -> list[TaskCell]:
    """Return the cells: set by set, seed by seed, and all that starts from the same features together.

    >>> len(reid_cells("table4", ["person_like"], [0], True))
    16
    """
    pairs = sorted((pair for group in ROWS[table] for pair in group), key=lambda pair: FORMS.index(pair[0]))
    return [
        TaskCell(name, method, ranked, seed)
        for name in data
        for seed in seeds
        for method, ranked in pairs
        if seed in needed_seeds(data_is_generated, method, False, seeds)
    ]


def measure(workshop: Workshop, cell: TaskCell, data: Data, key: str) -> Scored:
    """Enhance queries and gallery together, rank the gallery for each query, score by the re-ID protocol."""
    assert isinstance(cell.task, Ranked)
    enhanced, test = workshop.test(cell.method, data, cell.seed), data.test
    asking = query_rows(test)
    labels, cameras = labels_of(test), test.cameras
    start = time.perf_counter()
    settings: dict[str, Any] = dict(preset="paper") if cell.task.literature else {}
    if enhanced.enhancer is not None and cell.task != NOT_RANKED_AGAIN:
        settings["scale"] = enhanced.enhancer.k_ if not cell.method.labelled else class_scale(test)
    ranking = rerank.METHODS[cell.task.method](
        enhanced.features[asking], enhanced.features[~asking], top=None, show_progress=False, **settings
    )
    seconds = time.perf_counter() - start + enhanced.seconds
    seen_by = (None, None) if cameras is None else (cameras[asking], cameras[~asking])
    found = reid(ranking, labels[asking], labels[~asking], *seen_by)
    scores = dict(map=found.map, r1=found.rank1, r5=found.rank5, r10=found.rank10, minp=found.minp)
    return Scored.of(
        cell,
        key,
        scores={name: 100 * value for name, value in scores.items()},
        chosen=dict(ranking.settings),
        trained=enhanced.enhancer is not None and enhanced.enhancer.trained_,
        seconds=round(seconds, 2),
        fit_seconds=enhanced.fit_seconds,
    )


def reid_grids(table: str, found: Found) -> list[Grid]:
    """Return the tables beside the paper's numbers."""
    groups = [[ranked.row(method.name) for method, ranked in group] for group in ROWS[table]]
    return beside_the_paper(table, groups, found, SCORES, PAPER_COLUMNS)


def persons(seed: int, quick: bool) -> Data:
    """Return the generated persons: 200 identities in 15 cameras, or few identities.

    >>> persons(0, quick=True).test
    FeatureSet(614 x 256, 20 classes, 15 cameras, 99 queries, parts test 614)
    """
    return Data.of(datasets.person_like(40 if quick else 200, seed=seed))


def vehicles(seed: int, quick: bool) -> Data:
    """Return the generated vehicles: 120 identities in 20 cameras, or few identities.

    >>> int(vehicles(0, quick=True).test.query.sum())
    96
    """
    return Data.of(datasets.vehicle_like(24 if quick else 120, seed=seed))


GENERATED = {"person_like (generated)": persons, "vehicle_like (generated)": vehicles}
TITLES = {
    "table4": "Table 4: re-identification, beside the paper's on MSMT17 and VeRi-776",
    "table11": "Table 11: re-ranking on given and on enhanced features, beside the paper's on MSMT17 and VeRi-776",
}
STUDIES = {
    table: Study(title, GENERATED, partial(reid_cells, table), measure, partial(reid_grids, table))
    for table, title in TITLES.items()
}
