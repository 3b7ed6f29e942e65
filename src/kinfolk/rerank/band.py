"""Band: better features for queries and gallery together, then any ranking of them.

The graph is that of all rows, queries and gallery; labels are never used. "band+kr" of the paper's Table 11 is
`band(query, gallery, then="kr")`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kinfolk._core.errors import InputError
from kinfolk.enhance import GraphEnhancer
from kinfolk.features import Matrix, as_matrix
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._ranking import TOP, Ranking
from kinfolk.rerank._settings import pool_with_k
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
    **settings: Any,
) -> Ranking:
    """Enhance queries and gallery on their common graph, then rank by cosine, "qe", "lbr", "kr" or "ecn".

    enhancer: a fitted GraphEnhancer; without one the label-free form is fitted to the rows. settings: of the ranking.

    Shapes: query (nq, d), gallery (ng, d)  ->  (nq, top).

    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> band(fs.features[:50], fs.features[50:], then="kr", top=10)
    Ranking(50 queries, top 10 of 1,747)
    """
    if then not in METHODS:
        raise InputError(f"the ranking must be one of {', '.join(METHODS)}, not {then!r}")
    asked, known = as_matrix(query), as_matrix(gallery)
    if asked.shape[1] != known.shape[1]:
        raise InputError(f"the queries have {asked.shape[1]} dimensions, the gallery {known.shape[1]}")
    together = np.concatenate([asked, known], dtype=np.float32)
    own = enhancer is None
    if enhancer is None:
        enhancer = GraphEnhancer(random_state=random_state, show_progress=show_progress).fit(together)
    Z = enhancer.transform(together)
    if then != "cosine" and settings.get("preset") is None:
        # enhanced neighbourhoods look more closed than they are: the size of the classes is that of the rows as given
        settings.setdefault("scale", enhancer.k_ if own else pool_with_k(Pool(asked, known, show_progress))[1])
    found = METHODS[then](Z[: len(asked)], Z[len(asked) :], top=top, show_progress=show_progress, **settings)
    return replace(found, settings=dict(found.settings, enhancer_k=enhancer.k_))
