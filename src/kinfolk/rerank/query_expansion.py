r"""Query expansion (QE): rank again for the mean of the query and its nearest.

Chum, Philbin, Sivic, Isard, Zisserman, "Total Recall", ICCV 2007 (average); Radenović, Tolias, Chum, "Fine-tuning CNN
image retrieval with no human annotation", TPAMI 2019 (alpha).

    p' = p + \sum_{g in N(p, k)} max(<p, g>, 0)^\alpha g,        d(p, g) = 1 - <p', g> / |p'|

alpha = 0 gives every neighbour the weight of the query itself: average query expansion.
"""

from __future__ import annotations

import numpy as np

from kinfolk._core.rows import of_length_one
from kinfolk.features import Matrix
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._ranking import TOP, Ranking, Watch, rank_blocks
from kinfolk.rerank._settings import Defaults, Preset

DEFAULTS = Defaults(
    paper=dict(k=10, alpha=3.0),
    for_k=lambda k: dict(k=max(1, round(k / 4)), alpha=3.0),
    most=lambda pool: dict(k=pool.n_gallery),
)
BLOCK_VALUES = 16 << 20  # neighbours gathered at a time: 64 MiB


def query_expansion(
    query: Matrix,
    gallery: Matrix,
    k: int | None = None,
    alpha: float | None = None,
    *,
    top: int | None = TOP,
    preset: Preset = None,
    class_k: int | None = None,
    show_progress: bool = True,
    watch: Watch = None,
) -> Ranking:
    """Rank the gallery for the mean of each query and its k nearest in the gallery, weighted by cosine ** alpha.

    Parameters
    ----------
    query, gallery : features (nq, d) and (ng, d).
    k : nearest rows in the mean; None: from the preset or class_k.
    alpha : exponent of the weights; 0: average expansion; None: 3.
    top : length of the lists, or the whole gallery where that is smaller; None: the whole gallery.
    preset : "paper": k = 10.
    class_k : the k that fits the classes, which k follows; None: chosen from the data.
    show_progress : bars on a terminal.
    watch : called with the whole gallery in its new order, (b, ng) rows, for each block of queries: to score all of it
        while only `top` is kept.

    Returns
    -------
    Ranking
        indices and distances (nq, top).

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> query_expansion(fs.features[:50], fs.features[50:], k=10, alpha=0)
    Ranking(50 queries, top 100 of 1,747)
    """
    pool = Pool(query, gallery, show_progress)
    settings, _ = DEFAULTS.resolve(pool, preset, class_k, k=k, alpha=alpha)
    first = rank_blocks(pool.distances, pool.n_queries, pool.n_gallery, settings["k"], {}, show_progress)
    expanded = pool.query.copy()
    step = max(1, BLOCK_VALUES // (settings["k"] * pool.gallery.shape[1]))
    for start in range(0, len(expanded), step):
        rows = slice(start, start + step)
        weights = np.maximum(1 - first.distances[rows], 0) ** np.float32(settings["alpha"])
        expanded[rows] += np.matmul(weights[:, None, :], pool.gallery[first.indices[rows]])[:, 0]
    pool.replace_queries(of_length_one(expanded))
    return rank_blocks(pool.distances, pool.n_queries, pool.n_gallery, top, settings, show_progress, watch)
