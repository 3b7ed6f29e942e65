"""Sim-M: many statistical tests for an edge, one for each common candidate of its ends (section 2.2 of the paper)."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel, over_spans, read_only
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
    r"""Return for each row and each of its neighbours the share of candidates that pass a test with both.

    S_ij = 1/m  sum over c in V_i and V_j of  t(s_ic) t(s_cj)                        (equation 3 of the paper)

    V_i are the candidates of i. The defaults separate best over the real sets measured (docs/similarity.md);
    normalize="common" with candidates="neighbors" is equation 3 to the letter.

    Parameters
    ----------
    g : a NeighborGraph over all rows, or a sparse matrix (n, n) such as `g.symmetric()`, whose entries in a row are its
        candidates.
    tests : "soft": t(s) = max(s, 0); "binary": t(s) = 1 if s >= threshold else 0.
    threshold : of binary tests.
    candidates : "neighbors": V_i are the neighbours of i; "neighbors+self": and i itself, with s_ii = 1.
    normalize : "common": m is the number of common candidates, as in the paper; "k": m is the number of candidates of
        a row (the larger of the two where rows differ), so a candidate that is not common counts as a failed test.
    pairs : (p, 2) rows i, j of any pairs; None: the graph's own edges.

    Returns
    -------
    (n, k) float32, aligned with g.indices; (p,) float32 for pairs; a sparse matrix with the edges of a sparse g.
    Cost: n k^2 look-ups, linear in n; memory n floats for each thread.

    Examples
    --------
    >>> import kinfolk as kf
    >>> g = kf.knn_graph([[1, 0.0], [1, 0.1], [1, 0.2], [0, 1.0]], k=2)
    >>> g.indices[0], kf.sim_m(g, tests="binary", threshold=0.9, candidates="neighbors")[0]
    (array([1, 2], dtype=int32), array([0.5, 0.5], dtype=float32))
    >>> kf.sim_m(g, pairs=[[0, 1], [0, 3]]).round(2)
    array([0.99, 0.1 ], dtype=float32)
    """
    check_choice("candidates", candidates, ("neighbors", "neighbors+self"))
    check_choice("normalize", normalize, ("k", "common"))
    with_self = candidates == "neighbors+self"
    starts, neighbors, similarities = _candidate_lists(g)
    weights = _test(similarities, tests, threshold)
    order, pair_starts, partners = (None, starts, neighbors) if pairs is None else _by_row(pairs, len(starts) - 1)
    result = _sums_over_common(starts, neighbors, weights, pair_starts, partners, with_self)
    if normalize == "common":
        ones = np.ones_like(weights)
        result /= np.maximum(_sums_over_common(starts, neighbors, ones, pair_starts, partners, with_self), 1)
    elif isinstance(g, NeighborGraph):
        result /= g.k + with_self
    else:
        degrees = np.diff(starts)
        own = np.repeat(degrees, np.diff(pair_starts))
        result /= np.maximum(np.maximum(own, degrees[partners]) + with_self, 1)
    if order is not None:
        in_order = np.empty_like(result)
        in_order[order] = result
        return in_order
    if isinstance(g, NeighborGraph):
        return result.reshape(g.indices.shape)
    return sparse.csr_array((result, g.indices, g.indptr), shape=g.shape)


def _candidate_lists(
    g: NeighborGraph | sparse.csr_array,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the candidates of all rows in one array: where each row starts, the candidates, their similarities."""
    if isinstance(g, NeighborGraph):
        if not g.square:
            raise InputError("Sim-M needs the neighbours of the neighbours: build the graph over all rows, not queries")
        starts = np.arange(len(g) + 1, dtype=np.int64) * g.k
        return starts, read_only(np.ravel(g.indices)), np.ravel(g.similarities)
    if not sparse.issparse(g):
        raise InputError(f"a neighbour graph is expected, not {type(g).__name__}: build one with kf.knn_graph(X, k)")
    if g.shape is None or g.shape[0] != g.shape[1]:
        raise InputError(f"a sparse graph must have as many rows as columns, not {g.shape}")
    return g.indptr.astype(np.int64), read_only(g.indices), g.data.astype(np.float32, copy=False)


def _by_row(pairs: ArrayLike, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return the order of the pairs by their first row, where each first row starts, and the second rows."""
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise InputError(f"pairs must be whole numbers of the shape (p, 2), not {rows.dtype} {rows.shape}")
    if len(rows) and not (rows.min() >= 0 and rows.max() < n):
        raise InputError(f"pairs name a row outside 0..{n - 1}")
    order = np.argsort(rows[:, 0], kind="stable")
    starts = np.searchsorted(rows[order, 0], np.arange(n + 1))
    return order, starts, read_only(rows[order, 1])


def _test(similarities: NDArray[np.float32], tests: str, threshold: float | None) -> NDArray[np.float32]:
    check_choice("tests", tests, ("soft", "binary"))
    if tests == "soft":
        return np.maximum(similarities, 0)
    if threshold is None:
        raise InputError("binary tests need a threshold: the similarity from which on a test passes")
    return (similarities >= threshold).astype(np.float32)


def _sums_over_common(
    starts: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    weights: NDArray[np.float32],
    pair_starts: NDArray[np.int64],
    partners: NDArray[np.int32],
    with_self: bool,
) -> NDArray[np.float32]:
    """Return for each pair the sum over its common candidates of the product of their two weights."""
    sums = np.empty(len(partners), dtype=np.float32)
    arrays = starts, neighbors, np.asarray(weights), pair_starts, partners, with_self, sums
    over_spans(lambda first, last: _sum_span(first, last, *arrays), len(starts) - 1)
    return sums


@kernel(fastmath=True)
def _weighted_sum(own: NDArray[np.float32], ids: NDArray[np.int32], weights: NDArray[np.float32]) -> np.float32:
    """Return the sum of own[id] times weight; on slices, as only loops from zero become vector instructions."""
    total = np.float32(0.0)
    for b in range(len(ids)):
        total += own[ids[b]] * weights[b]
    return total


@kernel()
def _sum_span(
    first: int,
    last: int,
    starts: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    weights: NDArray[np.float32],
    pair_starts: NDArray[np.int64],
    partners: NDArray[np.int32],
    with_self: bool,
    sums: NDArray[np.float32],
) -> None:
    own = np.zeros(len(starts) - 1, dtype=np.float32)  # weights of the candidates of row i, zero for all others
    for i in range(first, last):
        for a in range(starts[i], starts[i + 1]):
            own[neighbors[a]] = weights[a]
        if with_self:
            own[i] = np.float32(1.0)
        for pair in range(pair_starts[i], pair_starts[i + 1]):
            j = partners[pair]
            theirs = slice(starts[j], starts[j + 1])
            total = _weighted_sum(own, neighbors[theirs], weights[theirs])
            sums[pair] = total + own[j] if with_self else total  # j is a candidate of itself, with weight one
        for a in range(starts[i], starts[i + 1]):
            own[neighbors[a]] = np.float32(0.0)
        own[i] = np.float32(0.0)
