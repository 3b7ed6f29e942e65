"""knn_graph: the k nearest neighbours of every row, exact or with a measured recall."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.progress import progress
from kinfolk.features import Matrix, as_matrix, unit_rows
from kinfolk.neighbors._ranking import rank_candidates
from kinfolk.neighbors._store import PartialGraph, check_target
from kinfolk.neighbors.exact import ExactSearch
from kinfolk.neighbors.graph import NeighborGraph
from kinfolk.neighbors.hnsw import HnswSearch
from kinfolk.neighbors.ivf import IvfSearch

Method = Literal["auto", "exact", "ivf", "hnsw"]
METHODS = ("auto", "exact", "ivf", "hnsw")

EXACT_BUDGET = 1e13  # multiplications and additions that count as affordable: one or two minutes on two cores
CHUNK_ROWS = 8192


class Search(Protocol):
    """A backend: proposes candidates for unit vectors and knows its recall.

    `order` says in which order it likes the queries; `own_rows` are the targets that the queries themselves are, or -1.
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

    Parameters: `method` "exact" (faiss, brute force), "ivf" (inverted lists, tuned until the recall measured on 1,000
    rows reaches `recall`), "hnsw" (faiss, tuned likewise) or "auto": exact while 2 q n d operations stay below 1e13
    (100,000 rows of 256 dimensions), else ivf. Where ivf would cost as much as exact search, exact search is done.
    `out` writes to disk while it works: an `.npz`, or a name without a suffix for a folder that opens memory-mapped;
    run the same call again after an interruption and it continues. Rows need not be normalised.

    Shapes: X (n, d), queries (q, d)  ->  indices and similarities (n, k) or (q, k).
    Memory: one float32 copy of X (a second one for ivf and hnsw), blocks of 8,192 rows, and the result unless `out`
    is a folder.

    >>> X = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [1, 0]])
    >>> knn_graph(X, k=1).indices.ravel()
    array([4, 0, 3, 2, 0], dtype=int32)
    >>> knn_graph(X, k=2, queries=np.array([[0.0, 2.0]])).indices
    array([[2, 3]], dtype=int32)
    """
    targets = as_matrix(X)
    asked = None if queries is None else as_matrix(queries)
    _check_arguments(targets, asked, k, method, recall)
    if out is not None:
        check_target(Path(out), force)
    unit = unit_rows(targets)
    unit_queries = None if asked is None else unit_rows(asked)
    search = _choose(unit, unit_queries, k, method, recall, seed, show_progress)
    order = search.order(unit_queries)
    if out is None:
        graph = _empty(len(order), k, len(targets), search, square=asked is None)
        for rows, indices, similarities in _neighbors(search, unit, unit_queries, order, k, show_progress):
            graph.indices[rows], graph.similarities[rows] = indices, similarities
        return graph
    name = _fingerprint(targets, asked, k, method, recall, seed)
    partial = PartialGraph.open(out, order, k, name, force)
    done, order = partial.done, partial.order
    for _, indices, similarities in _neighbors(search, unit, unit_queries, order, k, show_progress, done):
        partial.write(indices, similarities)
    graph = NeighborGraph(
        partial.indices, partial.similarities, len(targets), search.method, search.recall, square=asked is None
    )
    return partial.finish(graph, force)


def _empty(rows: int, k: int, n_targets: int, search: Search, square: bool) -> NeighborGraph:
    indices, similarities = np.empty((rows, k), dtype=np.int32), np.empty((rows, k), dtype=np.float32)
    return NeighborGraph(indices, similarities, n_targets, search.method, search.recall, square)


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
    asked = unit if queries is None else queries
    with progress(f"neighbours ({search.method})", len(order), show_progress) as advance:
        advance(done)
        for start in range(done, len(order), CHUNK_ROWS):
            rows = order[start : start + CHUNK_ROWS]
            block = asked[rows]
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
    backend = HnswSearch if method == "hnsw" else IvfSearch
    with progress(f"preparing {backend.method}", 1, show_progress):
        tuned = backend.tuned(unit, queries, k + (queries is None), recall, seed)
    if tuned is not None:
        return tuned
    if method == "hnsw":
        raise InputError(f"hnsw does not reach a recall of {recall} on these vectors: use method='ivf' or 'exact'")
    return ExactSearch(unit)


def _check_arguments(targets: NDArray, asked: NDArray | None, k: int, method: str, recall: float) -> None:
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if asked is not None and asked.shape[1] != targets.shape[1]:
        raise InputError(
            f"queries have {asked.shape[1]} dimensions, the rows they are compared with {targets.shape[1]}"
        )
    most = len(targets) - (asked is None)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= most:
        raise InputError(f"k must be a whole number from 1 to {most} for {len(targets)} rows, not {k!r}")
    if not 0 < recall <= 1:
        raise InputError(f"recall must lie above 0 and not above 1, not {recall}")


def _fingerprint(targets: NDArray, asked: NDArray | None, k: int, method: str, recall: float, seed: int) -> str:
    """Return a name for this piece of work: its settings and a sample of its rows."""
    digest = hashlib.sha256(repr((k, method, recall, seed)).encode())
    for matrix in (targets,) if asked is None else (targets, asked):
        rows = np.unique(np.linspace(0, len(matrix) - 1, 256).astype(int))
        digest.update(repr((matrix.shape, matrix.dtype.str)).encode())
        digest.update(np.ascontiguousarray(matrix[rows]).tobytes())
    return digest.hexdigest()
