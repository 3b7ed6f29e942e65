r"""Local blurring (LBR): the first n of a list are smoothed by each other.

Luo, Chen, Wang, Zhang, "Spectral Feature Transformation for Person Re-identification", ICCV 2019.

With the first n rows g_1 ... g_n of the list of p:

    W_ij = exp(<g_i, g_j> / \sigma) / \sum_l exp(<g_i, g_l> / \sigma)
    g'_i = \sum_j W_ij g_j,      d(p, g_i) = 1 - <p, g'_i>

<p, g'_i> = \sum_j W_ij <p, g_j>: a mean of the first similarities, so no feature is formed, and none of the n can fall
behind the rest of the list, which does not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk.features import Matrix
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._ranking import TOP, Ranking, Watch, rank_blocks
from kinfolk.rerank._settings import Defaults, Preset

DEFAULTS = Defaults(
    paper=dict(n=50, temperature=0.1),
    for_k=lambda k: dict(n=max(2, 3 * k), temperature=0.1),
    most=lambda pool: dict(n=pool.n_gallery),
)


def local_blurring(
    query: Matrix,
    gallery: Matrix,
    n: int | None = None,
    temperature: float | None = None,
    *,
    top: int | None = TOP,
    preset: Preset = None,
    class_k: int | None = None,
    show_progress: bool = True,
    watch: Watch = None,
) -> Ranking:
    """Rank the gallery by cosine, then blur the first n of each list and rank them again.

    Parameters
    ----------
    query, gallery : features (nq, d) and (ng, d).
    n : rows of each list that are blurred; None: from the preset or class_k.
    temperature : sigma of the module's text; None: 0.1.
    top : length of the lists, or the whole gallery where that is smaller; None: the whole gallery.
    preset : "paper": n = 50.
    class_k : the k that fits the classes, which n follows; None: chosen from the data.
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
    >>> local_blurring(fs.features[:50], fs.features[50:], n=20)
    Ranking(50 queries, top 100 of 1,747)
    """
    pool = Pool(query, gallery, show_progress)
    settings, _ = DEFAULTS.resolve(pool, preset, class_k, n=n, temperature=temperature)
    width = min(settings["n"], pool.n_gallery)
    if not settings["temperature"] > 0:
        raise InputError(f"temperature must lie above 0, not {settings['temperature']}")

    def distances(start: int, stop: int) -> NDArray[np.float32]:
        block = pool.distances(start, stop)
        for row in block:
            first = np.argpartition(row, width - 1)[:width]
            row[first] = _blurred(pool.gallery[first], row[first], settings["temperature"])
        return block

    return rank_blocks(distances, pool.n_queries, pool.n_gallery, top, settings, show_progress, watch)


def _blurred(vectors: NDArray[np.float32], distances: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """Return the distances, each a mean over the rows like it: (n, d), (n,) -> (n,)."""
    exponents = vectors @ vectors.T / np.float32(temperature)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return weights @ distances / weights.sum(axis=1)
