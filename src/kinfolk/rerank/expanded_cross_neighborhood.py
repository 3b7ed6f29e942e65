r"""Expanded cross neighbourhood (ECN): compare each row with the neighbours of the other and their neighbours.

Sarfraz, Schumann, Eberle, Stiefelhagen, "A Pose-Sensitive Embedding for Person Re-Identification with Expanded Cross
Neighborhood Re-Ranking", CVPR 2018.

N(p) holds the t nearest of p and the q nearest of each of these, over queries and gallery: M = t + t q rows, some more
than once.

    d_ECN(p, g) = 1 / (2 M) (\sum_{j in N(p)} d(j, g) + \sum_{j in N(g)} d(j, p))

d is 1 - cosine (variant="cosine") or compares the lists of k rows, each beginning with its own row (variant="rank"):

    d(i, j) = 1 - 1/Z \sum_b [k + 1 - pos_i(b)]_+ [k + 1 - pos_j(b)]_+,      Z: the sum of a list with itself

Both are inner products, so the sums move inside: with v_i the sparse vector of [k + 1 - pos_i(b)]_+ and u_i the sum of
v_j over j in N(i), d_ECN(p, g) = 1 - (<u_p, v_g> + <v_p, u_g>) / (2 M Z). Rows whose lists share nothing with the query
have the distance 1; among them the cosine decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import check_choice
from kinfolk._core.kernels import kernel, over_spans
from kinfolk.features import Matrix
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._ranking import TOP, Ranking, Watch, rank_blocks
from kinfolk.rerank._settings import Defaults, Preset, rank_lists
from kinfolk.rerank._sparse import SparseRows, add_rows

Distances = Callable[[int, int], NDArray[np.float32]]
DEFAULTS = Defaults(
    paper=dict(k=25, t=3, q=8),
    for_k=lambda k: dict(k=max(3, round(1.5 * k)), t=max(1, round(0.12 * k)), q=max(1, round(0.25 * k))),
    most=lambda pool: dict(k=len(pool), t=len(pool) - 1, q=len(pool) - 1),
)


def expanded_cross_neighborhood(
    query: Matrix,
    gallery: Matrix,
    k: int | None = None,
    t: int | None = None,
    q: int | None = None,
    *,
    top: int | None = TOP,
    preset: Preset = None,
    class_k: int | None = None,
    variant: Literal["rank", "cosine"] = "rank",
    show_progress: bool = True,
    watch: Watch = None,
) -> Ranking:
    """Rank the gallery by the expanded cross neighbourhood, on rank lists or on cosines.

    Parameters
    ----------
    query, gallery : features (nq, d) and (ng, d).
    k : length of the lists that are compared; None: from the preset or class_k, as t and q.
    t, q : nearest rows, and nearest of each of them, that form a neighbourhood.
    top : length of the lists returned, or the whole gallery where that is smaller; None: the whole gallery.
    preset : "paper": k = 25, t = 3, q = 8.
    class_k : the k that fits the classes, which k, t and q follow; None: chosen from the data.
    variant : d of the module's text, "rank" or "cosine".
    show_progress : bars on a terminal.
    watch : called with the whole gallery in its new order, (b, ng) rows, for each block of queries: to score all of it
        while only `top` is kept.

    Returns
    -------
    Ranking
        indices and distances (nq, top). Memory: unit vectors, lists of k, the sparse rows twice (rank) or a second set
        of vectors (cosine), 64 MiB blocks.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> expanded_cross_neighborhood(fs.features[:50], fs.features[50:], k=25, t=3, q=8)
    Ranking(50 queries, top 100 of 1,747)
    """
    check_choice("variant", variant, ("rank", "cosine"))
    pool = Pool(query, gallery, show_progress)
    settings, neighbors = DEFAULTS.resolve(pool, preset, class_k, k=k, t=t, q=q)
    width = settings["k"] if variant == "rank" else 1
    lists = rank_lists(pool, neighbors, max(width, settings["t"] + 1, settings["q"] + 1)).indices
    members = expanded_neighbors(lists[:, 1:], settings["t"], settings["q"])
    distances = _by_rank(pool, lists[:, :width], members, width) if variant == "rank" else _by_cosine(pool, members)
    ranking = rank_blocks(distances, pool.n_queries, pool.n_gallery, top, settings, show_progress, watch)
    if variant == "rank":
        np.minimum(ranking.distances, 1, out=ranking.distances)
    return ranking


def expanded_neighbors(nearest: NDArray[np.int32], t: int, q: int) -> NDArray[np.int32]:
    """Return N(i): the t nearest of each row and the q nearest of each of these, (n, l) -> (n, t + t q).

    >>> expanded_neighbors(np.array([[1, 2], [2, 0], [1, 0]], np.int32), 1, 2)
    array([[1, 2, 0],
           [2, 1, 0],
           [1, 2, 0]], dtype=int32)
    """
    first = nearest[:, :t]
    return np.hstack([first, nearest[first, :q].reshape(len(nearest), -1)])


def _by_rank(pool: Pool, lists: NDArray[np.int32], members: NDArray[np.int32], k: int) -> Distances:
    n, width = lists.shape
    places = np.arange(k, k - width, -1, dtype=np.float32)  # k + 1 - position
    v = SparseRows(np.arange(n + 1) * width, lists.ravel(), np.tile(places, n))
    u = add_rows(v, members, 1 / (2 * members.shape[1] * float(places @ places)))
    inverted_v, inverted_u = v.inverted(pool.n_queries), u.inverted(pool.n_queries)

    def distances(start: int, stop: int) -> NDArray[np.float32]:
        block = pool.similarities(start, stop)
        over_spans(lambda a, b: _cross(a, b, block, start, u, v, inverted_u, inverted_v), len(block))
        return block

    return distances


def _by_cosine(pool: Pool, members: NDArray[np.int32]) -> Distances:
    means = np.empty_like(pool.unit)
    over_spans(lambda a, b: _means(a, b, pool.unit, members, means), len(means))
    query_means, gallery_means = means[: pool.n_queries], means[pool.n_queries :]

    def distances(start: int, stop: int) -> NDArray[np.float32]:
        both = query_means[start:stop] @ pool.gallery.T + pool.query[start:stop] @ gallery_means.T
        return np.subtract(np.float32(1), np.float32(0.5) * both)

    return distances


@kernel(fastmath=True)
def _means(
    first: int, last: int, unit: NDArray[np.float32], members: NDArray[np.int32], means: NDArray[np.float32]
) -> None:
    share = np.float32(1 / members.shape[1])
    for i in range(first, last):
        for d in range(unit.shape[1]):
            means[i, d] = np.float32(0.0)
        for m in range(members.shape[1]):
            for d in range(unit.shape[1]):
                means[i, d] += share * unit[members[i, m], d]


@kernel()
def _cross(
    first: int,
    last: int,
    block: NDArray[np.float32],
    start: int,
    u: SparseRows,
    v: SparseRows,
    inverted_u: SparseRows,
    inverted_v: SparseRows,
) -> None:
    """Turn cosines of the queries from `start` on into distances, 2 - cosine where no list is shared: (b, ng)."""
    one, two = np.float32(1.0), np.float32(2.0)
    shared = np.zeros(block.shape[1], dtype=np.float32)
    for b in range(first, last):
        _add_products(start + b, u, inverted_v, shared)
        _add_products(start + b, v, inverted_u, shared)
        for g in range(block.shape[1]):
            block[b, g] = one - shared[g] if shared[g] > 0 else two - block[b, g]
            shared[g] = np.float32(0.0)


@kernel()
def _add_products(row: int, rows: SparseRows, inverted: SparseRows, sums: NDArray[np.float32]) -> None:
    """Add the inner products of one row with all rows of an inverted index."""
    for e in range(rows.starts[row], rows.starts[row + 1]):
        column, value = rows.columns[e], rows.values[e]
        for f in range(inverted.starts[column], inverted.starts[column + 1]):
            sums[inverted.columns[f]] += value * inverted.values[f]
