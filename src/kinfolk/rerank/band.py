"""Band: better features for queries and gallery together, then any ranking of them.

The graph is that of all rows, queries and gallery; labels are never used. "band+kr" of the paper's Table 11 is
`band(query, gallery, then="kr")`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kinfolk._core.checks import check_choice
from kinfolk.enhance import GraphEnhancer
from kinfolk.features import FeatureSet, Matrix, UnitRows, refuse_enhanced
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._ranking import TOP, Ranking, Watch
from kinfolk.rerank._settings import neighbors_and_k
from kinfolk.rerank.cosine import cosine
from kinfolk.rerank.expanded_cross_neighborhood import expanded_cross_neighborhood
from kinfolk.rerank.k_reciprocal import k_reciprocal
from kinfolk.rerank.local_blurring import local_blurring
from kinfolk.rerank.query_expansion import query_expansion

METHODS: dict[str, Callable[..., Ranking]] = {
    "cosine": cosine,
    "qe": query_expansion,
    "lbr": local_blurring,
    "kr": k_reciprocal,
    "ecn": expanded_cross_neighborhood,
}


def band(
    query: Matrix,
    gallery: Matrix,
    then: str = "cosine",
    *,
    enhancer: GraphEnhancer | None = None,
    random_state: int = 0,
    top: int | None = TOP,
    show_progress: bool = True,
    watch: Watch = None,
    **settings: Any,
) -> Ranking:
    """Enhance queries and gallery on their common graph, then rank by cosine, "qe", "lbr", "kr" or "ecn".

    What each camera adds is taken away first where both are FeatureSets that know their cameras.

    Parameters
    ----------
    query, gallery : features (nq, d) and (ng, d).
    then : the ranking of the enhanced features, one of `METHODS`.
    enhancer : a fitted GraphEnhancer; None: the label-free form is fitted to the rows.
    random_state : of the label-free form.
    top : length of the lists, or the whole gallery where that is smaller; None: the whole gallery.
    show_progress : bars on a terminal.
    watch : called with the whole gallery in its new order, (b, ng) rows, for each block of queries: to score all of it
        while only `top` is kept.
    settings : further arguments of the ranking.

    Returns
    -------
    Ranking
        indices and distances (nq, top); its settings also have the enhancer's k.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> band(fs.features[:50], fs.features[50:], then="kr", top=10)
    Ranking(50 queries, top 10 of 1,747)
    """
    check_choice("the ranking", then, tuple(METHODS))
    for features in (query, gallery):
        refuse_enhanced(features)
    pool = Pool(query, gallery, show_progress)
    rows, label_free = _with_cameras(pool, query, gallery), enhancer is None
    if enhancer is None:
        enhancer = GraphEnhancer(random_state=random_state, show_progress=show_progress)
        Z = enhancer.fit_transform(rows)
    else:
        Z = enhancer.transform(rows)
    if then != "cosine" and settings.get("preset") is None and "class_k" not in settings:
        # enhanced neighbourhoods look more closed than they are: k fits the classes of the features as given
        settings["class_k"] = enhancer.k_ if label_free else neighbors_and_k(pool)[1]
    enhanced = UnitRows(Z[: pool.n_queries]), UnitRows(Z[pool.n_queries :])
    ranking = METHODS[then](*enhanced, top=top, show_progress=show_progress, watch=watch, **settings)
    return replace(ranking, settings=dict(ranking.settings, enhancer_k=enhancer.k_))


def _with_cameras(pool: Pool, query: Matrix, gallery: Matrix) -> FeatureSet | UnitRows:
    """Return the rows of both, with their cameras where both know them."""
    cameras = [rows.cameras for rows in (query, gallery) if isinstance(rows, FeatureSet) and rows.cameras is not None]
    return FeatureSet(pool.unit, cameras=np.concatenate(cameras)) if len(cameras) == 2 else UnitRows(pool.unit)
