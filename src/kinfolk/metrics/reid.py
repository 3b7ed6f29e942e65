r"""Re-identification: how early a query's identity, seen by another camera, comes in the ranking of a gallery.

For a query of identity y and camera c, the gallery items of y taken by c (too easy) and junk (label -1) are left out;
the others keep the order of the ranking. rank_t: position there of the t-th item of y; P: how many there are.

AP     = 1 / P  sum_t  t / rank_t       its mean over the queries is mAP^R
INP    = P / rank_P                     its mean is mINP
CMC(r) = share of the queries with rank_1 <= r;     R1 = CMC(1)

Queries without any item to find (P = 0) are left out of the means, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel
from kinfolk._core.threads import deal
from kinfolk.metrics._labels import numbered
from kinfolk.metrics.retrieval import cmc_of

WALKED_AT_ONCE = 1 << 22  # places of lists, of one thread: 32 MiB of row numbers
END = -1  # in a ranking: the list of this query ends here
BAD_ROW, TWICE = 1, 2  # faults of a list


class Ranking(Protocol):
    """Gallery rows for each query, best first: indices (nq, top)."""

    @property
    def indices(self) -> NDArray[Any]:
        """Return the gallery rows, (nq, top); -1 ends a list early."""


class ReidReport(NamedTuple):
    """Every score of the re-ID protocol, from 0 to 1.

    Attributes
    ----------
    queries : how many were scored.
    left_out : queries that had no item to find.
    map, minp : means over the queries.
    rank1, rank5, rank10 : CMC at these ranks.
    cmc : cmc[r - 1] is CMC at rank r, for r up to 50.
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
    """The scores of each query that has an item to find: (m,) each.

    Attributes
    ----------
    classes : classes of the queries.
    average_precision, inverse_penalty : AP and INP of each query.
    first_rank : rank of the first item that was to be found; infinite where none is listed.
    left_out : how many queries had no item to find.
    """

    classes: NDArray[np.int64]
    average_precision: NDArray[np.float64]
    inverse_penalty: NDArray[np.float64]
    first_rank: NDArray[np.float64]
    left_out: int


def reid(
    ranking: Ranking | ArrayLike | Iterator[Ranking | ArrayLike],
    query_labels: ArrayLike,
    gallery_labels: ArrayLike,
    query_cameras: ArrayLike | None = None,
    gallery_cameras: ArrayLike | None = None,
) -> ReidReport:
    """Score a ranking by the re-ID protocol.

    Parameters
    ----------
    ranking : (nq, top) gallery rows for each query, best first, or something with such `indices`: what `kf.rerank`
        returns, a NeighborGraph of queries. An iterator of these, block after block of queries, keeps memory small.
        Lists may be shorter than the gallery: an item that is not listed counts as not found (it adds nothing to AP and
        CMC, and INP is 0 where the last item is missing).
    query_labels, gallery_labels : (nq,) and (ng,) whole numbers or texts. Gallery items with a label below zero, or an
        empty text, are junk and left out; any other label, the distractors' 0 of Market-1501 too, is an identity.
    query_cameras, gallery_cameras : (nq,) and (ng,), or None: every item of the identity is to be found.

    Returns
    -------
    ReidReport

    Cost: one walk over the lists. Memory: 32 MiB and a byte for each gallery item, for each thread.

    Examples
    --------
    >>> found = reid([[0, 1, 2], [2, 0, 1]], [7, 8], [7, 7, 8], query_cameras=[1, 1], gallery_cameras=[1, 2, 2])
    >>> found.map, found.rank1, found.queries  # item 0 is left out for query 0: same identity, same camera
    (1.0, 1.0, 2)
    """
    return ReidScorer(query_labels, gallery_labels, query_cameras, gallery_cameras).add_all(ranking).report()


def reid_queries(
    ranking: Ranking | ArrayLike | Iterator[Ranking | ArrayLike],
    query_labels: ArrayLike,
    gallery_labels: ArrayLike,
    query_cameras: ArrayLike | None = None,
    gallery_cameras: ArrayLike | None = None,
) -> ReidQueries:
    """Return the scores of each query, of which `reid` takes the means.

    Parameters
    ----------
    ranking, query_labels, gallery_labels, query_cameras, gallery_cameras : as in `reid`.

    Returns
    -------
    ReidQueries

    Examples
    --------
    >>> reid_queries([[1, 0], [0, 1]], [7, 8], [7, 8]).average_precision
    array([0.5, 0.5])
    """
    return ReidScorer(query_labels, gallery_labels, query_cameras, gallery_cameras).add_all(ranking).queries()


class ReidScorer:
    """Scores lists by the re-ID protocol as they come, block after block of queries, and keeps none of them.

    Parameters
    ----------
    query_labels, gallery_labels, query_cameras, gallery_cameras : as in `reid`.

    Examples
    --------
    >>> import kinfolk as kf
    >>> fs = kf.datasets.digits()
    >>> query, gallery = fs.take(slice(0, 50)), fs.take(slice(50, None))
    >>> scorer = ReidScorer(query.labels, gallery.labels)
    >>> kf.rerank.cosine(query, gallery, top=10, watch=scorer.add)  # ten are kept, all are scored
    Ranking(50 queries, top 10 of 1,747)
    >>> round(scorer.report().map, 2)
    0.68
    """

    def __init__(  # noqa: D107
        self,
        query_labels: ArrayLike,
        gallery_labels: ArrayLike,
        query_cameras: ArrayLike | None = None,
        gallery_cameras: ArrayLike | None = None,
    ) -> None:
        self._query_classes, self._gallery_classes = _numbered_together(query_labels, gallery_labels, "label")
        nq, ng = len(self._query_classes), len(self._gallery_classes)
        if (query_cameras is None) != (gallery_cameras is None):
            raise InputError("cameras are needed for the queries and for the gallery, or for neither")
        if query_cameras is None or gallery_cameras is None:
            self._cameras = np.full(nq, -1), np.full(ng, -2)  # of no common camera
        else:
            self._cameras = numbered_cameras(query_cameras, gallery_cameras, nq, ng)
        self._to_find = _to_find(self._query_classes, self._gallery_classes, *self._cameras)
        if not self._to_find.any():
            raise InputError("no query has an item of its identity and of another camera in the gallery")
        self._scores = np.empty((nq, 3))
        self._added = 0

    def add(self, ranking: Ranking | ArrayLike) -> None:
        """Score the lists of the next queries, (b, top), given as in `reid`."""
        indices = _list_rows(ranking)
        start, nq = self._added, len(self._query_classes)
        rows = slice(start, start + len(indices))
        if rows.stop > nq:
            raise InputError(f"the ranking has more lists than the {nq:,} queries")
        lists = _Lists(
            self._query_classes[rows],
            self._cameras[0][rows],
            self._gallery_classes,
            self._cameras[1],
            self._to_find[rows],
            self._scores[rows],
        )
        _walk(indices, lists, start)
        self._added = rows.stop

    def add_all(self, ranking: Ranking | ArrayLike | Iterator[Ranking | ArrayLike]) -> ReidScorer:
        """Score the lists of all queries, at once or as an iterator of blocks; return the scorer."""
        for block in ranking if isinstance(ranking, Iterator) else [ranking]:
            self.add(block)
        return self

    def queries(self) -> ReidQueries:
        """Return the scores of each query that has an item to find, once the lists of all are added."""
        nq = len(self._query_classes)
        if self._added < nq:
            raise InputError(f"the ranking has {self._added:,} lists for {nq:,} queries")
        scored = self._to_find > 0
        average_precision, inverse_penalty, first_rank = self._scores[scored].T
        left_out = int(np.count_nonzero(~scored))
        return ReidQueries(self._query_classes[scored], average_precision, inverse_penalty, first_rank, left_out)

    def report(self) -> ReidReport:
        """Return the means over the queries, once the lists of all are added."""
        found = self.queries()
        cmc = cmc_of(found.first_rank, top=50)
        return ReidReport(
            queries=len(found.classes),
            left_out=found.left_out,
            map=float(found.average_precision.mean()),
            rank1=float(cmc[0]),
            rank5=float(cmc[4]),
            rank10=float(cmc[9]),
            minp=float(found.inverse_penalty.mean()),
            cmc=cmc,
        )


def _list_rows(ranking: Ranking | ArrayLike) -> NDArray[np.integer]:
    indices = np.ascontiguousarray(getattr(ranking, "indices", ranking))
    if indices.ndim != 2 or indices.dtype.kind not in "iu":
        raise InputError(
            f"a ranking is (queries, top) row numbers of the gallery, not {indices.shape} of {indices.dtype}"
        )
    return indices


def _numbered_together(first: ArrayLike, second: ArrayLike, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the labels of queries and gallery alike; unknown ones become -1."""
    one, other = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or other.ndim != 1 or not len(one) or not len(other):
        raise InputError(f"queries and gallery need one {what} a row, the shapes are {one.shape} and {other.shape}")
    if (one.dtype.kind in "USO") != (other.dtype.kind in "USO"):
        raise InputError(f"the {what}s of queries and gallery must both be numbers or both be texts")
    both = numbered(np.concatenate([one, other]))
    return both[: len(one)], both[len(one) :]


def numbered_cameras(
    query: ArrayLike, gallery: ArrayLike, queries: int, items: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the cameras of queries and gallery alike.

    >>> numbered_cameras(["left"], ["right", "left"], 1, 2)
    (array([0]), array([1, 0]))
    """
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
    query_cameras: NDArray[np.int64],
    gallery_cameras: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count the gallery items of each query's identity that another camera saw: (nq,)."""
    span = max(query_cameras.max(), gallery_cameras.max(), 0) + 3
    of_identity = _count(query_classes, gallery_classes)
    same_camera = _count(query_classes * span + query_cameras + 2, gallery_classes * span + gallery_cameras + 2)
    return np.where(query_classes < 0, 0, of_identity - same_camera)


def _count(wanted: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.sort(among)
    return np.searchsorted(ordered, wanted, side="right") - np.searchsorted(ordered, wanted, side="left")


class _Lists(NamedTuple):
    """What a walk over the lists of some queries needs: (q,), (q,), (ng,), (ng,), (q,), and scores (q, 3) to fill."""

    query_classes: NDArray[np.int64]
    query_cameras: NDArray[np.int64]
    gallery_classes: NDArray[np.int64]
    gallery_cameras: NDArray[np.int64]
    to_find: NDArray[np.int64]
    scores: NDArray[np.float64]


def _walk(indices: NDArray[np.integer], lists: _Lists, first_query: int) -> None:
    """Fill in the scores of the lists, with threads where there are many; refuse lists that name no or equal items."""
    faults = np.zeros(len(indices), dtype=np.int64)
    step = max(1, WALKED_AT_ONCE // max(1, indices.shape[1]))

    def walk(start: int) -> None:
        rows = slice(start, start + step)
        block = indices[rows].astype(np.int64, copy=False)  # one compiled form of the walk, whatever the ranking holds
        _walk_lists(
            block,
            lists.query_classes[rows],
            lists.query_cameras[rows],
            lists.gallery_classes,
            lists.gallery_cameras,
            lists.to_find[rows],
            lists.scores[rows],
            faults[rows],
        )

    if len(indices) > step:
        deal(walk, range(0, len(indices), step))
    else:
        walk(0)
    if faults.any():
        bad = int(np.flatnonzero(faults)[0])
        if faults[bad] == TWICE:
            raise InputError(f"the list of query {first_query + bad} names an item twice")
        last = len(lists.gallery_classes) - 1
        raise InputError(f"the list of query {first_query + bad} names a row outside 0 to {last}")


@kernel()
def _walk_lists(
    indices: NDArray[np.int64],
    query_classes: NDArray[np.int64],
    query_cameras: NDArray[np.int64],
    gallery_classes: NDArray[np.int64],
    gallery_cameras: NDArray[np.int64],
    to_find: NDArray[np.int64],
    scores: NDArray[np.float64],
    faults: NDArray[np.int64],
) -> None:
    """Write AP, INP and rank_1 of each query (infinite where no item to find is listed): (queries, 3)."""
    for q in range(len(indices)):
        listed = np.zeros(len(gallery_classes), dtype=np.bool_)
        rank, found, total, first, last = 0, 0, 0.0, np.inf, np.inf
        for position in range(indices.shape[1]):
            item = indices[q, position]
            if item == END:
                break
            if item < 0 or item >= len(gallery_classes):
                faults[q] = BAD_ROW
                break
            if listed[item]:
                faults[q] = TWICE
                break
            listed[item] = True
            same = gallery_classes[item] == query_classes[q]
            if gallery_classes[item] < 0 or (same and gallery_cameras[item] == query_cameras[q]):
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
