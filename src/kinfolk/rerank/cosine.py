"""Cosine: the ranking that the others improve."""

from __future__ import annotations

from kinfolk.features import Matrix
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._ranking import TOP, Ranking, Watch, rank_blocks


def cosine(
    query: Matrix, gallery: Matrix, *, top: int | None = TOP, show_progress: bool = True, watch: Watch = None
) -> Ranking:
    """Rank the gallery by cosine alone: d(p, g) = 1 - <p, g>.

    Parameters
    ----------
    query, gallery : features (nq, d) and (ng, d).
    top : length of the lists, or the whole gallery where that is smaller; None: the whole gallery.
    show_progress : bars on a terminal.
    watch : called with the whole gallery in its new order, (b, ng) rows, for each block of queries: to score all of it
        while only `top` is kept.

    Returns
    -------
    Ranking
        indices and distances (nq, top).

    Examples
    --------
    >>> cosine([[1, 0]], [[0, 1], [2, 0]]).distances
    array([[0., 1.]], dtype=float32)
    """
    pool = Pool(query, gallery, show_progress)
    return rank_blocks(pool.distances, pool.n_queries, pool.n_gallery, top, {}, show_progress, watch)
