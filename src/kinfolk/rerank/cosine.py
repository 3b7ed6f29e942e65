"""Cosine: the ranking that the others improve."""

from __future__ import annotations

from kinfolk.features import Matrix
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._ranking import TOP, Ranking, rank_blocks


def cosine(query: Matrix, gallery: Matrix, *, top: int | None = TOP, show_progress: bool = True) -> Ranking:
    """Rank the gallery by cosine alone: d(p, g) = 1 - <p, g>.

    Parameters
    ----------
    query, gallery : features (nq, d) and (ng, d).
    top : length of the lists; None: the whole gallery.
    show_progress : bars on a terminal.

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
    return rank_blocks(pool.distances, pool.n_queries, pool.n_gallery, top, {}, show_progress)
