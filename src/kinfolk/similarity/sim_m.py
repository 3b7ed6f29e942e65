"""Sim-M: many statistical tests for an edge, one for each candidate both ends know (section 2.2 of the paper)."""

from __future__ import annotations

from typing import Literal, overload

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kinfolk._core.errors import InputError
from kinfolk._core.threads import thread_count
from kinfolk.neighbors import NeighborGraph

Tests = Literal["soft", "binary"]
Candidates = Literal["neighbors", "neighbors+self"]
Normalize = Literal["k", "common"]


@overload
def sim_m(
    g: NeighborGraph,
    tests: Tests = "soft",
    threshold: float | None = None,
    candidates: Candidates = "neighbors+self",
    normalize: Normalize = "k",
    *,
    pairs: ArrayLike | None = None,
) -> NDArray[np.float32]: ...
@overload
def sim_m(
    g: sparse.csr_array,
    tests: Tests = "soft",
    threshold: float | None = None,
    candidates: Candidates = "neighbors+self",
    normalize: Normalize = "k",
) -> sparse.csr_array: ...
def sim_m(
    g: NeighborGraph | sparse.csr_array,
    tests: Tests = "soft",
    threshold: float | None = None,
    candidates: Candidates = "neighbors+self",
    normalize: Normalize = "k",
    *,
    pairs: ArrayLike | None = None,
) -> NDArray[np.float32] | sparse.csr_array:
    r"""Return for each row and each of its neighbours how many common candidates vouch for the pair.

    S_ij = 1/m  sum over c in V_i and V_j of  t(s_ic) t(s_cj)                        (equation 3 of the paper)

    V_i are the neighbours of i, and i itself with s_ii = 1 unless candidates="neighbors"; t(s) = max(s, 0) for soft
    tests and t(s) = 1 if s >= threshold else 0 for binary ones. The paper divides by the number m of common candidates
    (normalize="common"). With normalize="k" m is the number of candidates of a row (the larger of the two where rows
    differ): a candidate that is not common counts as a failed test. The defaults are what separates best over the real
    sets measured (docs/similarity.md).

    `pairs`: any (p, 2) rows i, j instead of the graph's own edges. A sparse matrix, such as `g.symmetric()`, takes the
    entries of a row as its candidates and gives a sparse matrix with the same edges.

    Shapes: g.indices (n, k)  ->  (n, k) float32, aligned with g.indices; pairs (p, 2)  ->  (p,).
    Cost: n k^2 look-ups, linear in n; memory n floats for each thread.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.2], [0, 1.0]], k=2)
    >>> g.indices[0], kf.sim_m(g, tests="binary", threshold=0.9, candidates="neighbors")[0]
    (array([1, 2], dtype=int32), array([0.5, 0.5], dtype=float32))
    >>> kf.sim_m(g, pairs=[[0, 1], [0, 3]]).round(2)
    array([0.99, 0.1 ], dtype=float32)
    """
    starts, neighbors, similarities = _candidate_lists(g)
    weights = _test(similarities, tests, threshold)
    with_self = {"neighbors": False, "neighbors+self": True}.get(candidates)
    by_common = {"k": False, "common": True}.get(normalize)
    if with_self is None or by_common is None:
        raise InputError(
            "candidates must be 'neighbors' or 'neighbors+self' and normalize 'k' or 'common', "
            f"not {candidates!r} and {normalize!r}"
        )
    order, pair_starts, partners = (None, starts, neighbors) if pairs is None else _by_row(pairs, len(starts) - 1)
    result = _vouch(starts, neighbors, weights, pair_starts, partners, with_self, thread_count())
    if by_common:
        everyone = np.ones_like(weights)
        result /= np.maximum(_vouch(starts, neighbors, everyone, pair_starts, partners, with_self, thread_count()), 1)
    elif isinstance(g, NeighborGraph):
        result /= g.k + with_self
    else:
        degrees = np.diff(starts)
        asking = np.repeat(degrees, np.diff(pair_starts))
        result /= np.maximum(np.maximum(asking, degrees[partners]) + with_self, 1)
    if order is not None:
        in_order = np.empty_like(result)
        in_order[order] = result
        return in_order
    if isinstance(g, NeighborGraph):
        return result.reshape(g.indices.shape)
    return sparse.csr_array((result, neighbors, starts), shape=g.shape)


def _candidate_lists(
    g: NeighborGraph | sparse.csr_array,
) -> tuple[NDArray[np.int64], NDArray[np.integer], NDArray[np.float32]]:
    """Return the candidates of all rows, one after the other: where each row starts, their numbers, similarities."""
    if isinstance(g, NeighborGraph):
        if not g.square:
            raise InputError("Sim-M needs the neighbours of the neighbours: build the graph over all rows, not queries")
        starts = np.arange(len(g) + 1, dtype=np.int64) * g.k
        return starts, np.ravel(g.indices), np.ravel(g.similarities)
    if not sparse.issparse(g):
        raise InputError(f"a neighbour graph is expected, not {type(g).__name__}: build one with kf.knn_graph(X, k)")
    if g.shape is None or g.shape[0] != g.shape[1]:
        raise InputError(f"a sparse graph must have as many rows as columns, not {g.shape}")
    return g.indptr.astype(np.int64), g.indices, g.data.astype(np.float32, copy=False)


def _by_row(pairs: ArrayLike, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    asked = np.asarray(pairs)
    if asked.ndim != 2 or asked.shape[1] != 2 or asked.dtype.kind not in "iu":
        raise InputError(f"pairs must be whole numbers of the shape (p, 2), not {asked.dtype} {asked.shape}")
    if len(asked) and not (asked.min() >= 0 and asked.max() < n):
        raise InputError(f"pairs name a row outside 0..{n - 1}")
    order = np.argsort(asked[:, 0], kind="stable")
    starts = np.searchsorted(asked[order, 0], np.arange(n + 1))
    return order, starts, asked[order, 1].astype(np.int64)


def _test(similarities: NDArray[np.float32], tests: str, threshold: float | None) -> NDArray[np.float32]:
    if tests == "soft":
        return np.maximum(similarities, 0)
    if tests != "binary":
        raise InputError(f"tests must be 'soft' or 'binary', not {tests!r}")
    if threshold is None:
        raise InputError("binary tests need a threshold: the similarity from which on a test passes")
    return (similarities >= threshold).astype(np.float32)


@nb.njit(fastmath=True, nogil=True, cache=True)
def _sum_known(spread: NDArray[np.float32], ids: NDArray[np.integer], weights: NDArray[np.float32]) -> np.float32:
    total = np.float32(0.0)
    for b in range(len(ids)):
        total += spread[ids[b]] * weights[b]
    return total


@nb.njit(parallel=True, cache=True)
def _vouch(
    starts: NDArray[np.int64],
    neighbors: NDArray[np.integer],
    weights: NDArray[np.float32],
    pair_starts: NDArray[np.int64],
    partners: NDArray[np.integer],
    with_self: bool,
    workers: int,
) -> NDArray[np.float32]:
    """Return for each pair the sum over common candidates of the product of their two weights."""
    n = len(starts) - 1
    result = np.empty(len(partners), dtype=np.float32)
    for worker in nb.prange(workers):
        # the weights of row i, spread out over all rows; who is not a candidate weighs nothing
        spread = np.zeros(n, dtype=np.float32)
        for i in range(n * worker // workers, n * (worker + 1) // workers):
            own = slice(starts[i], starts[i + 1])
            spread[neighbors[own]] = weights[own]
            if with_self:
                spread[i] = 1.0
            for pair in range(pair_starts[i], pair_starts[i + 1]):
                j = partners[pair]
                theirs = slice(starts[j], starts[j + 1])
                total = _sum_known(spread, neighbors[theirs], weights[theirs])
                result[pair] = total + spread[j] if with_self else total  # j knows itself; i may know j
            spread[neighbors[own]] = 0.0
            spread[i] = 0.0
    return result
