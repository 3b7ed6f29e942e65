"""knn_graph: the k nearest neighbours of every row, exact or with a measured recall."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import check_choice, check_seed, is_whole
from kinfolk._core.errors import InputError
from kinfolk._core.progress import progress
from kinfolk._core.rows import blocks
from kinfolk._core.targets import check_target
from kinfolk._core.version import __version__
from kinfolk.features import Matrix, UnitRows, as_matrix, unit_rows
from kinfolk.neighbors._ranking import rank_candidates
from kinfolk.neighbors._store import PartialGraph, graph_kind
from kinfolk.neighbors.exact import ExactSearch
from kinfolk.neighbors.graph import NeighborGraph
from kinfolk.neighbors.ivf import IvfSearch

Method = Literal["auto", "exact", "ivf"]
METHODS = ("auto", "exact", "ivf")

EXACT_BUDGET = 1e13  # multiplications and additions of an affordable exact search: one or two minutes on two cores
CHUNK_ROWS = 8192  # rows between two writes to disk: a few seconds of work at 100,000 rows


class Search(Protocol):
    """A backend: proposes candidates for unit vectors and knows its recall.

    `order` is the order of the queries it is fastest in; `own_rows` are the targets that the queries are, or -1.
    """

    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def recall(self) -> float: ...  # noqa: D102
    def order(self, queries: NDArray[np.float32] | None) -> NDArray[np.int64]: ...  # noqa: D102
    def candidates(  # noqa: D102
        self, queries: NDArray[np.float32], own_rows: NDArray[np.int64], k: int
    ) -> NDArray[np.int64]: ...


def knn_graph(
    X: Matrix,
    k: int,
    method: Method = "auto",
    *,
    queries: Matrix | None = None,
    recall: float = 0.99,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    seed: int = 0,
    show_progress: bool = True,
) -> NeighborGraph:
    """Return the k nearest neighbours by cosine of every row of X, or of every query among the rows of X.

    Parameters
    ----------
    X : (n, d) features; they need not be normalised, and rows given as `UnitRows` are neither checked nor normalised.
    k : number of neighbours, below n (with `queries`: at most n).
    method : "exact": brute force by faiss; "ivf": inverted lists, tuned until the recall measured on 1,000 rows reaches
        `recall`, or exact search where that would cost as much; "auto": exact while 2 q n d operations stay below 1e13
        (100,000 rows of 256 dimensions), else ivf.
    queries : (q, d) other rows whose neighbours in X are wanted; a query that is also a row of X finds itself.
    recall : share of the true neighbours that an approximate search must find.
    out : write to disk while working: an `.npz`, or a name without a suffix for a folder that opens memory-mapped. The
        same call continues after an interruption.
    force : replace what is at `out`.
    seed : the same number gives the same approximate graph.
    show_progress : a progress bar, in a terminal only.

    Returns
    -------
    NeighborGraph with indices and similarities of the shape (n, k) or (q, k).

    Memory: one float32 copy of X (two for ivf), blocks of 8,192 rows, and the result unless `out` is a folder.

    Examples
    --------
    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [1, 0]])
    >>> knn_graph(X, k=1).indices.ravel()
    array([4, 0, 3, 2, 0], dtype=int32)
    >>> knn_graph(X, k=2, queries=np.array([[0.0, 2.0]])).indices
    array([[2, 3]], dtype=int32)
    """
    rows, query_rows = as_matrix(X), None if queries is None else as_matrix(queries)
    _check_arguments(rows, query_rows, k, method, recall)
    check_seed(seed)
    if out is not None:
        check_target(out, force=force, kind=graph_kind(out))
    unit = unit_rows(X if isinstance(X, UnitRows) else rows)
    unit_queries = None if query_rows is None else unit_rows(queries if isinstance(queries, UnitRows) else query_rows)
    search = _choose(unit, unit_queries, k, method, recall, seed, show_progress)
    order = search.order(unit_queries)
    if out is None:
        indices, similarities = np.empty((len(order), k), dtype=np.int32), np.empty((len(order), k), dtype=np.float32)
        for found, nearest, cosines in _neighbors(search, unit, unit_queries, order, k, show_progress):
            indices[found], similarities[found] = nearest, cosines
        return NeighborGraph(indices, similarities, len(unit), search.method, search.recall, square=queries is None)
    fingerprint = _fingerprint(rows, query_rows, k, method, recall, seed)
    with PartialGraph.open(out, order, k, fingerprint, force) as partial:
        remaining = _neighbors(search, unit, unit_queries, partial.order, k, show_progress, partial.done)
        for _, nearest, cosines in remaining:
            partial.write(nearest, cosines)
        graph = NeighborGraph(
            partial.indices, partial.similarities, len(unit), search.method, search.recall, square=queries is None
        )
        partial.finish(graph.fields(), force)
    return NeighborGraph.load(out)


def _neighbors(
    search: Search,
    unit: NDArray[np.float32],
    queries: NDArray[np.float32] | None,
    order: NDArray[np.int64],
    k: int,
    show_progress: bool,
    done: int = 0,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]]:
    """Find the neighbours of the rows in `order` from `done` on, block after block: (rows, indices, similarities)."""
    with progress(f"neighbours ({search.method})", len(order), show_progress) as advance:
        advance(done)
        for start in range(done, len(order), CHUNK_ROWS):
            rows = order[start : start + CHUNK_ROWS]
            block = (unit if queries is None else queries)[rows]
            own_rows = rows if queries is None else np.full(len(rows), -1)
            candidates = search.candidates(block, own_rows, k + (queries is None))
            yield rows, *rank_candidates(block, unit, candidates, k, own_rows, exact=search.method == "exact")
            advance(len(rows))


def _choose(
    unit: NDArray[np.float32],
    queries: NDArray[np.float32] | None,
    k: int,
    method: str,
    recall: float,
    seed: int,
    show_progress: bool,
) -> Search:
    q = len(unit) if queries is None else len(queries)
    if method == "exact" or (method == "auto" and 2.0 * q * unit.size <= EXACT_BUDGET):
        return ExactSearch(unit)
    with progress(f"preparing {IvfSearch.method}", 1, show_progress):
        return IvfSearch.tuned(unit, queries, k + (queries is None), recall, seed) or ExactSearch(unit)


def _check_arguments(rows: NDArray, query_rows: NDArray | None, k: int, method: str, recall: float) -> None:
    check_choice("method", method, METHODS)
    if query_rows is not None and query_rows.shape[1] != rows.shape[1]:
        raise InputError(
            f"queries have {query_rows.shape[1]} dimensions, the rows they are compared with {rows.shape[1]}"
        )
    most = len(rows) - (query_rows is None)
    if not is_whole(k) or k > most:
        raise InputError(f"k must be a whole number from 1 to {most} for {len(rows)} rows, not {k!r}")
    if not 0 < recall <= 1:
        raise InputError(f"recall must lie above 0 and not above 1, not {recall}")


def _fingerprint(rows: NDArray, query_rows: NDArray | None, k: int, method: str, recall: float, seed: int) -> str:
    """Return a name for this piece of work: its settings and all of its rows."""
    digest = hashlib.sha256(repr((__version__, k, method, recall, seed)).encode())
    for matrix in (rows,) if query_rows is None else (rows, query_rows):
        digest.update(repr((matrix.shape, matrix.dtype.str)).encode())
        for _, block in blocks(matrix):
            digest.update(np.ascontiguousarray(block).data)
    return digest.hexdigest()
