r"""Re-identification: does a query find its identity in the gallery, seen by another camera?

Of the gallery, a query of identity y and camera c never sees the items of y taken by c (too easy) nor junk (label -1);
what is left is read in the order of the ranking. rank_t: position there of the t-th item of y; P: how many there are.

AP     = 1 / P  sum_t  t / rank_t       its mean over the queries is mAP^R
INP    = P / rank_P                     its mean is mINP
CMC(r) = share of the queries with rank_1 <= r;     R1 = CMC(1)

Queries without any item to find (P = 0) are left out of the means, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk.features import Matrix, of_length_one, unit_rows
from kinfolk.metrics._labels import numbered

CMC_RANKS = 50
BLOCK_SIMILARITIES = 1 << 22
END = -1  # in a ranking: the list of this query ends here
BAD_ROW, TWICE = 1, 2


class Ranking(Protocol):
    """Gallery rows for each query, best first: indices (nq, top)."""

    @property
    def indices(self) -> NDArray[Any]:
        """Return the gallery rows, (nq, top); -1 ends a list early."""


class ReidReport(NamedTuple):
    """Every score of the re-ID protocol, from 0 to 1; `cmc[r - 1]` is CMC at rank r, for r up to 50.

    `queries` were scored, `left_out` had nobody to find.
    """

    queries: int
    left_out: int
    map: float
    rank1: float
    rank5: float
    rank10: float
    minp: float
    cmc: NDArray[np.float64]


class ReidQueries(NamedTuple):
    """What each query that has somebody to find scored, (m,) each: its class, AP, INP and rank_1 (infinite: nobody).

    `left_out` others had nobody to find.
    """

    classes: NDArray[np.int64]
    average_precision: NDArray[np.float64]
    inverse_penalty: NDArray[np.float64]
    first_rank: NDArray[np.float64]
    left_out: int


class PooledQueries(NamedTuple):
    """One query for each identity and camera: features (m, d) of length one, labels (m,), cameras (m,)."""

    features: NDArray[np.float32]
    labels: NDArray[Any]
    cameras: NDArray[Any]


def reid(
    ranking: Ranking | ArrayLike | Iterator[Ranking | ArrayLike],
    query_labels: ArrayLike,
    gallery_labels: ArrayLike,
    query_cameras: ArrayLike | None = None,
    gallery_cameras: ArrayLike | None = None,
) -> ReidReport:
    """Score a ranking by the re-ID protocol.

    ranking: gallery rows for each query, best first, (nq, top), or something with such `indices`: what `kf.rerank`
    returns, a NeighborGraph of queries. An iterator of these, block after block of queries, keeps memory small. Lists
    may be shorter than the gallery: what is not listed counts as not found (it adds nothing to AP and CMC, and INP is
    0 where the last item is missing).

    Labels are whole numbers or words. Gallery items with a label below zero, or an empty word, are junk and left out;
    any other label, the distractors' 0 of Market-1501 too, counts as an identity. Without cameras every item of the
    identity is to be found.

    Cost: one walk over the lists. Memory: a byte for each gallery item and thread.

    >>> found = reid([[0, 1, 2], [2, 0, 1]], [7, 8], [7, 7, 8], query_cameras=[1, 1], gallery_cameras=[1, 2, 2])
    >>> found.map, found.rank1, found.queries  # query 0 does not see item 0: same identity, same camera
    (1.0, 1.0, 2)
    """
    found = reid_queries(ranking, query_labels, gallery_labels, query_cameras, gallery_cameras)
    queries = len(found.classes)
    cmc = np.searchsorted(np.sort(found.first_rank), np.arange(1, CMC_RANKS + 1), side="right") / queries
    return ReidReport(
        queries=queries,
        left_out=found.left_out,
        map=float(found.average_precision.mean()),
        rank1=float(cmc[0]),
        rank5=float(cmc[4]),
        rank10=float(cmc[9]),
        minp=float(found.inverse_penalty.mean()),
        cmc=cmc,
    )


def reid_queries(
    ranking: Ranking | ArrayLike | Iterator[Ranking | ArrayLike],
    query_labels: ArrayLike,
    gallery_labels: ArrayLike,
    query_cameras: ArrayLike | None = None,
    gallery_cameras: ArrayLike | None = None,
) -> ReidQueries:
    """Return what each query scores, of which `reid` takes the means; arguments as there.

    >>> reid_queries([[1, 0], [0, 1]], [7, 8], [7, 8]).average_precision
    array([0.5, 0.5])
    """
    query_classes, gallery_classes = _numbered_together(query_labels, gallery_labels, "label")
    if (query_cameras is None) != (gallery_cameras is None):
        raise InputError("cameras are needed for the queries and for the gallery, or for neither")
    if query_cameras is None or gallery_cameras is None:
        asking, seen = np.full(len(query_classes), -1), np.full(len(gallery_classes), -2)
    else:
        asking, seen = _numbered_cameras(query_cameras, gallery_cameras, len(query_classes), len(gallery_classes))
    to_find = _to_find(query_classes, gallery_classes, asking, seen)
    scores = np.empty((len(query_classes), 3))
    start = 0
    for indices in _blocks(ranking):
        rows = slice(start, start + len(indices))
        start += len(indices)
        if start > len(query_classes):
            raise InputError(f"the ranking has more lists than the {len(query_classes):,} queries")
        _walk(
            indices, query_classes[rows], asking[rows], gallery_classes, seen, to_find[rows], scores[rows], rows.start
        )
    if start < len(query_classes):
        raise InputError(f"the ranking has {start:,} lists for {len(query_classes):,} queries")
    asked = to_find > 0
    if not asked.any():
        raise InputError("no query has an item of its identity and of another camera in the gallery")
    average_precision, inverse_penalty, first_rank = scores[asked].T
    left_out = int(np.count_nonzero(~asked))
    return ReidQueries(query_classes[asked], average_precision, inverse_penalty, first_rank, left_out)


def cosine_ranking(query: Matrix, gallery: Matrix) -> Iterator[NDArray[np.int64]]:
    """Yield the whole gallery in the order of falling cosine, block after block of queries: (queries, ng) each.

    Among equal similarities the lower row comes first. Memory: a block of 16 MiB and its sort, never nq x ng.

    >>> list(cosine_ranking(np.array([[1.0, 0.1]]), np.array([[0, 1.0], [1, 0]])))
    [array([[1, 0]])]
    """
    asking, known = unit_rows(query), unit_rows(gallery)
    if asking.shape[1] != known.shape[1]:
        raise InputError(f"queries have {asking.shape[1]} dimensions, the gallery has {known.shape[1]}")
    step = max(1, BLOCK_SIMILARITIES // len(known))
    for start in range(0, len(asking), step):
        yield np.argsort(-(asking[start : start + step] @ known.T), axis=1, kind="stable")


def pool_queries(query: Matrix, labels: ArrayLike, cameras: ArrayLike) -> PooledQueries:
    """Return the queries of the multi-query protocol: the mean of the queries of one identity and camera is one query.

    Rows are taken at length one. Those of unknown identity are left out.

    >>> pooled = pool_queries(np.array([[1.0, 0], [0, 1], [1, 0]]), [5, 5, 6], [1, 1, 1])
    >>> pooled.labels.tolist(), pooled.features.round(2).tolist()
    ([5, 6], [[0.7099999785423279, 0.7099999785423279], [1.0, 0.0]])
    """
    unit = unit_rows(query)
    names, seen_by = np.asarray(labels), np.asarray(cameras)
    classes = numbered(names, len(unit))
    known = np.flatnonzero(classes >= 0)
    pairs = np.stack([classes, _numbered_cameras(seen_by, seen_by, len(unit), len(unit))[0]], axis=1)[known]
    _, first, pool = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    first = known[first]
    sums = np.zeros((len(first), unit.shape[1]), dtype=np.float32)
    np.add.at(sums, pool.ravel(), unit[known])
    return PooledQueries(of_length_one(sums, instead=unit[first]), names[first], seen_by[first])


def _blocks(ranking: Ranking | ArrayLike | Iterable[Ranking | ArrayLike]) -> Iterator[NDArray[np.integer]]:
    for block in ranking if isinstance(ranking, Iterator) else [ranking]:
        indices = np.ascontiguousarray(getattr(block, "indices", block))
        if indices.ndim != 2 or indices.dtype.kind not in "iu":
            raise InputError(
                f"a ranking is (queries, top) row numbers of the gallery, not {indices.shape} of {indices.dtype}"
            )
        yield indices


def _numbered_together(first: ArrayLike, second: ArrayLike, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the labels of queries and gallery alike; unknown ones become -1."""
    one, other = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or other.ndim != 1 or not len(one) or not len(other):
        raise InputError(f"queries and gallery need one {what} a row, the shapes are {one.shape} and {other.shape}")
    if (one.dtype.kind in "USO") != (other.dtype.kind in "USO"):
        raise InputError(f"the {what}s of queries and gallery must both be numbers or both be words")
    both = numbered(np.concatenate([one, other]))
    return both[: len(one)], both[len(one) :]


def _numbered_cameras(
    query: ArrayLike, gallery: ArrayLike, queries: int, items: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    one, other = np.asarray(query), np.asarray(gallery)
    if one.shape != (queries,) or other.shape != (items,):
        raise InputError(
            f"one camera a row was expected, {queries:,} and {items:,}, the shapes are {one.shape} and {other.shape}"
        )
    both = np.unique(np.concatenate([one, other]), return_inverse=True)[1].astype(np.int64)
    return both[:queries], both[queries:]


def _to_find(
    query_classes: NDArray[np.int64],
    gallery_classes: NDArray[np.int64],
    asking: NDArray[np.int64],
    seen: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count the gallery items of each query's identity that another camera saw: (nq,)."""
    cameras = max(asking.max(), seen.max(), 0) + 3
    all_of_them = _count(query_classes, gallery_classes)
    same_camera = _count(query_classes * cameras + asking + 2, gallery_classes * cameras + seen + 2)
    return np.where(query_classes < 0, 0, all_of_them - same_camera)


def _count(wanted: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.sort(among)
    return np.searchsorted(ordered, wanted, side="right") - np.searchsorted(ordered, wanted, side="left")


def _walk(
    indices: NDArray[np.integer],
    query_classes: NDArray[np.int64],
    asking: NDArray[np.int64],
    gallery_classes: NDArray[np.int64],
    seen: NDArray[np.int64],
    to_find: NDArray[np.int64],
    scores: NDArray[np.float64],
    first_query: int,
) -> None:
    wrong = np.zeros(len(indices), dtype=np.int64)
    _walk_lists(indices, query_classes, asking, gallery_classes, seen, to_find, scores, wrong)
    if wrong.any():
        bad = int(np.flatnonzero(wrong)[0])
        if wrong[bad] == TWICE:
            raise InputError(f"the list of query {first_query + bad} names an item twice")
        raise InputError(f"the list of query {first_query + bad} names a row outside 0 to {len(gallery_classes) - 1}")


@nb.njit(parallel=True, cache=True)
def _walk_lists(
    indices: NDArray[np.integer],
    query_classes: NDArray[np.int64],
    asking: NDArray[np.int64],
    gallery_classes: NDArray[np.int64],
    seen: NDArray[np.int64],
    to_find: NDArray[np.int64],
    scores: NDArray[np.float64],
    wrong: NDArray[np.int64],
) -> None:
    """Write AP, INP and rank_1 of each query (infinite where nothing is found): (queries, 3)."""
    for q in nb.prange(len(indices)):
        listed = np.zeros(len(gallery_classes), dtype=np.bool_)
        rank, found, total, first, last = 0, 0, 0.0, np.inf, np.inf
        for position in range(indices.shape[1]):
            item = np.int64(indices[q, position])
            if item == END:
                break
            if item < 0 or item >= len(gallery_classes):
                wrong[q] = BAD_ROW
                break
            if listed[item]:
                wrong[q] = TWICE
                break
            listed[item] = True
            same = gallery_classes[item] == query_classes[q]
            if gallery_classes[item] < 0 or (same and seen[item] == asking[q]):
                continue
            rank += 1
            if same:
                found += 1
                total += found / rank
                if found == 1:
                    first = rank
                if found == to_find[q]:
                    last = rank
        scores[q, 0] = total / max(to_find[q], 1)
        scores[q, 1] = to_find[q] / last
        scores[q, 2] = first
