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

from kinfolk.experiments.claims import ClaimSource, best, best_of, comparable, higher, sets_of
from kinfolk.experiments.feature_methods import (
    BAND,
    FEATURE_METHODS,
    GCN,
    GCN_SELF,
    LABEL_FREE,
    ORIGINAL,
    PAPER_METHODS,
    PAPER_ROWS,
    TRANSFORMER,
    TRANSFORMER_BAND,
    FeatureCache,
    FeatureMethod,
)
from kinfolk.experiments.generated_sets import PERSONS, VEHICLES, Size
from kinfolk.experiments.results import Claim, Table
from kinfolk.experiments.resume import Data, labels_of
from kinfolk.experiments.task_cells import ScoredCell, ScoredCells, Study, TaskCell, beside_the_paper, needed_seeds
from kinfolk.features import FeatureSet
from kinfolk.metrics import reid_scores, resampled
from kinfolk.rerank import METHODS as RERANKERS
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._settings import neighbors_and_k

SCORE_HEADS = {"map": "mAP^R", "r1": "R1"}
PAPER_COLUMNS = {"msmt17_map": "MSMT17 mAP^R", "msmt17_r1": "R1", "veri776_map": "VeRi-776 mAP^R", "veri776_r1": "R1"}


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
        return features + ranked + ", literature's settings" * self.literature

    def facts(self, data: Data) -> Mapping[str, Any]:
        """Return the method, and a hash of queries and cameras."""
        packed = np.packbits(query_rows(data.test)).tobytes()
        cameras = b"" if data.test.cameras is None else data.test.cameras.tobytes()
        return dict(
            method=self.method, literature=self.literature, protocol=hashlib.sha256(packed + cameras).hexdigest()[:16]
        )


COSINE_RANKED = Ranked()
RERANKED = tuple(Ranked(method) for method in ("qe", "lbr", "kr", "ecn"))
RERANKED_AS_PUBLISHED = tuple(Ranked(ranked.method, literature=True) for ranked in RERANKED)
GCN_BAND_METHOD = PAPER_METHODS[-1]
# what the tables measure, in groups as the paper draws lines
ROWS: dict[str, list[list[tuple[FeatureMethod, Ranked]]]] = {
    "table4": [
        [(form, COSINE_RANKED) for form in FEATURE_METHODS],
        [(ORIGINAL, ranked) for ranked in RERANKED],
        [(ORIGINAL, ranked) for ranked in RERANKED_AS_PUBLISHED],
    ],
    "table11": [
        [(form, COSINE_RANKED) for form in (ORIGINAL, GCN_BAND_METHOD, LABEL_FREE, BAND)],
        *([(form, ranked) for ranked in RERANKED] for form in (ORIGINAL, GCN_BAND_METHOD, LABEL_FREE, BAND)),
    ],
}


def query_rows(fs: FeatureSet) -> NDArray[np.bool_]:
    """Return which rows are queries: the set's own; without any, one item of each identity, drawn with seed 0.

    >>> rows = query_rows(FeatureSet(np.eye(6), labels=[1, 1, 1, 2, 2, 2]))
    >>> rows[:3].sum(), rows[3:].sum()
    (np.int64(1), np.int64(1))
    """
    if fs.query is not None and fs.query.any():
        return np.asarray(fs.query)
    shuffled = np.random.default_rng(0).permutation(len(fs))
    first = np.unique(labels_of(fs)[shuffled], return_index=True)[1]
    queries = np.zeros(len(fs), dtype=bool)
    queries[shuffled[first]] = True
    return queries


def reid_cells(table: str, data: Sequence[str], seeds: Sequence[int], size: Size | None) -> list[TaskCell]:
    """Return the cells: set by set, seed by seed, and all that starts from the same features together.

    >>> len(reid_cells("table4", ["person_like"], [0], "usual"))
    16
    """
    pairs = sorted((pair for group in ROWS[table] for pair in group), key=lambda pair: FEATURE_METHODS.index(pair[0]))
    return [
        TaskCell(name, method, ranked, seed)
        for name in data
        for seed in seeds
        for method, ranked in pairs
        if seed in needed_seeds(size is not None, method, False, seeds)
    ]


def measure(feature_cache: FeatureCache, cell: TaskCell, data: Data, key: str) -> ScoredCell:
    """Enhance queries and gallery together, rank the gallery for each query, score by the re-ID protocol."""
    assert isinstance(cell.task, Ranked)
    enhanced, test = feature_cache.test(cell.method, data, cell.seed), data.test
    queries = query_rows(test)
    labels, cameras = labels_of(test), test.cameras
    start = time.perf_counter()
    settings: dict[str, Any] = dict(preset="paper") if cell.task.literature else {}
    if enhanced.enhancer is not None and cell.task != COSINE_RANKED:
        settings["class_k"] = enhanced.enhancer.k_ if not cell.method.labelled else _k_of_given_features(test)
    ranking = RERANKERS[cell.task.method](
        enhanced.features[queries], enhanced.features[~queries], top=None, show_progress=False, **settings
    )
    seconds = time.perf_counter() - start + enhanced.seconds
    seen_by = (None, None) if cameras is None else (cameras[queries], cameras[~queries])
    found = reid_scores(ranking, labels[queries], labels[~queries], *seen_by)
    scores = {name.replace("cmc_", "r"): 100 * value for name, value in found.values().items()}
    return ScoredCell.of(
        cell,
        key,
        scores=scores,
        chosen=dict(ranking.settings),
        trained=enhanced.enhancer is not None and enhanced.enhancer.trained_,
        seconds=round(seconds, 2),
        fit_seconds=enhanced.fit_seconds,
        draws=dict(map=(100 * resampled(found, resamples=500)["map"]).round(2).tolist()),
    )


def _k_of_given_features(fs: FeatureSet) -> int:
    """Return the k that fits the classes, chosen on the features as given: enhanced ones overstate the class size."""
    queries = query_rows(fs)
    return neighbors_and_k(Pool(fs.features[queries], fs.features[~queries], show_progress=False))[1]


def reid_tables(table: str, found: ScoredCells) -> list[Table]:
    """Return the tables beside the paper's numbers."""
    groups = [[ranked.row(method.name) for method, ranked in group] for group in ROWS[table]]
    return beside_the_paper(table, groups, found, SCORE_HEADS, PAPER_COLUMNS)


def form_claims(found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about Table 4."""
    claims: list[Claim] = []
    for here in sets_of(found):
        source = ClaimSource("Section 3.4, Table 4", "mAP^R", here.data)
        at = {form.name: here.score_of_row(form.name, "map") for form in PAPER_ROWS}
        reranked = [e for ranked in RERANKED if (e := here.score_of_row(ranked.row(ORIGINAL.name), "map")) is not None]
        band = at[GCN_BAND_METHOD.name]
        others = {name: e for name, e in at.items() if name != GCN_BAND_METHOD.name}
        claims += best("GCN with band is best among the forms", source, band, others)
        if reranked:
            text = "GCN with band is better than the best re-ranking, or comparable"
            claims += comparable(text, source, band, best_of(reranked), or_better=True)
        for name in (TRANSFORMER, GCN_SELF, TRANSFORMER_BAND, GCN_BAND_METHOD.name):
            claims += higher(f"{name} is better than GCN", source, at[name], at[GCN])
        claims += higher("Band is better than self", source, band, at[GCN_SELF])
        for form in PAPER_METHODS:
            claims += higher(f"{form.name} is better than the given features", source, at[form.name], at[ORIGINAL.name])
    return claims


def ensemble_claims(found: ScoredCells) -> list[Claim]:
    """Return the paper's claims about Table 11: band and re-ranking help each other."""
    claims: list[Claim] = []
    for here in sets_of(found):
        source = ClaimSource("Appendix A.6, Table 11", "mAP^R", here.data)
        band = here.score_of_row(GCN_BAND_METHOD.name, "map")
        for ranked in RERANKED:
            name, both = ranked.method.upper(), here.score_of_row(ranked.row(GCN_BAND_METHOD.name), "map")
            given = here.score_of_row(ranked.row(ORIGINAL.name), "map")
            claims += higher(f"{name} on band is better than band alone", source, both, band)
            text = f"{name} on band is better than {name} on the given features"
            if ranked.method == "ecn":
                claims += comparable(f"{text}, or comparable", source, both, given, or_better=True)
            else:
                claims += higher(text, source, both, given)
    return claims


ABOUT = "Queries and gallery are enhanced together, then ranked; an identity in the query's own camera does not count."
STUDIES = {
    "table4": Study(
        "Table 4: re-identification",
        ABOUT,
        (PERSONS, VEHICLES),
        partial(reid_cells, "table4"),
        measure,
        partial(reid_tables, "table4"),
        claims=form_claims,
    ),
    "table11": Study(
        "Table 11: re-ranking on given and on enhanced features",
        ABOUT,
        (PERSONS, VEHICLES),
        partial(reid_cells, "table11"),
        measure,
        partial(reid_tables, "table11"),
        claims=ensemble_claims,
    ),
}
