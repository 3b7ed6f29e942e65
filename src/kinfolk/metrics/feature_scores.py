"""One answer to "how good are these features?": by the protocol that the set itself calls for.

re-ID         The set marks queries: they search its other rows, the gallery. Where there are cameras, items of the
              query's identity and camera are left out (`kinfolk.metrics.reid`).
retrieval     It marks none: every row searches all others, cameras or not (`kinfolk.metrics.retrieval`).

Every command that prints a mAP of features takes it from here, so that one set has one number.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.metrics.cosine_ranking import cosine_ranking
from kinfolk.metrics.identity_scores import IdentityScores, reid_scores, retrieval_scores
from kinfolk.metrics.retrieval import draw_queries

# with so many queries a mean is within 0.4 points of that of all rows in 95 of 100 draws: the average precision of a
# query has a standard deviation of about 0.25 on four real sets; 200,000 rows of 128 dimensions take two minutes a core
QUERIES = 20_000

Protocol = Literal["reid", "retrieval"]


class FeatureScores(NamedTuple):
    """Scores of features, and what was searched for them.

    Attributes
    ----------
    protocol : "reid" or "retrieval".
    scores : ready for `bootstrap` and `compare`; `scores.values()["map"]` is the mAP.
    asked : how many queries there are; `drawn` of them were used, with `seed`.
    drawn : how many queries were used.
    seed : of the draw.
    searched : rows of the gallery, or all rows.
    """

    protocol: Protocol
    scores: IdentityScores
    asked: int
    drawn: int
    seed: int
    searched: int

    def __str__(self) -> str:
        """Return who searched what, in words.

        >>> fs = FeatureSet(np.eye(4) + 0.1, labels=[0, 0, 1, 1])
        >>> str(feature_scores(fs)), str(feature_scores(fs, n_queries=2))
        ('each of 4 rows against all others', '2 of 4 rows, drawn with seed 0, against all others')
        """
        some = self.drawn < self.asked
        who = f"{self.drawn:,} of {self.asked:,}" if some else f"{self.asked:,}"
        how = f", drawn with seed {self.seed}," if some else ""
        if self.protocol == "retrieval":
            return f"{'' if some else 'each of '}{who} rows{how} against all others"
        nobody = self.drawn - len(self.scores.rows)
        left_out = f"; {nobody:,} queries without an item to find are left out" if nobody else ""
        return f"{who} queries{how} against a gallery of {self.searched:,} rows{left_out}"


def feature_scores(
    fs: FeatureSet,
    gallery: FeatureSet | None = None,
    *,
    protocol: Protocol | Literal["auto"] = "auto",
    n_queries: int | Literal["auto"] | None = "auto",
    seed: int = 0,
    show_progress: bool = False,
) -> FeatureScores:
    """Score features by cosine: by the re-ID protocol where the set marks queries, else every row against all others.

    Parameters
    ----------
    fs : a set with labels.
    gallery : a second set with labels: then all rows of `fs` are queries.
    protocol : "reid" or "retrieval"; "auto": as the set calls for.
    n_queries : use so many of the queries; None: all; "auto": all, or 20,000 where there are more.
    seed : of the draw of queries.
    show_progress : a progress bar, in a terminal only.

    Returns
    -------
    FeatureScores

    Examples
    --------
    >>> import kinfolk as kf
    >>> persons = kf.datasets.person_like(20, seed=0).part("test")
    >>> found = feature_scores(persons)
    >>> found.protocol, sorted(found.scores.names)
    ('reid', ['cmc_1', 'cmc_10', 'cmc_5', 'map', 'minp'])
    >>> feature_scores(persons, protocol="retrieval").scores.names
    ('map', 'r_precision', 'minp', 'cmc_1', 'cmc_5', 'cmc_10')
    """
    check_choice("protocol", protocol, ("auto", "reid", "retrieval"))
    for side in (fs,) if gallery is None else (fs, gallery):
        if side.labels is None:
            raise InputError("features are scored against labels, and this set has none")
    if protocol == "retrieval" or (protocol == "auto" and gallery is None and not marks_queries(fs)):
        rows = _draw(np.arange(len(fs)), n_queries, seed)
        scores = retrieval_scores(fs, fs.labels, queries=rows, show_progress=show_progress)  # type: ignore[arg-type]
        return FeatureScores("retrieval", scores, len(fs), len(rows), seed, len(fs))
    if gallery is None and not marks_queries(fs):
        raise InputError(
            "the re-ID protocol needs queries and other rows: this set does not mark which rows are queries"
        )
    asking = np.arange(len(fs)) if gallery is not None or fs.query is None else np.flatnonzero(fs.query)
    known = fs.take(~fs.query) if gallery is None and fs.query is not None else gallery
    assert known is not None
    rows = _draw(asking, n_queries, seed)
    query = fs.take(rows)
    scores = reid_scores(cosine_ranking(query, known), query.labels, known.labels, query.cameras, known.cameras)  # type: ignore[arg-type]
    return FeatureScores("reid", scores, len(asking), len(rows), seed, len(known))


def marks_queries(fs: FeatureSet) -> bool:
    """Return whether a set marks some rows, but not all, as queries.

    >>> marks_queries(FeatureSet(np.eye(2), query=[True, False])), marks_queries(FeatureSet(np.eye(2)))
    (True, False)
    """
    return fs.query is not None and bool(0 < fs.query.sum() < len(fs))


def _draw(rows: np.ndarray, n_queries: int | str | None, seed: int) -> np.ndarray:
    if n_queries == "auto":
        n_queries = QUERIES if len(rows) > QUERIES else None
    return draw_queries(rows, n_queries, seed)  # type: ignore[arg-type]
