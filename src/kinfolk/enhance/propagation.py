r"""Propagation: every row becomes the mean of its kin, several times over.

The band of attention on the whole graph. Row i attends to itself and its 2 s nearest neighbours:

    A^(s)_ij = softmax_j(theta_q log p_ij + theta_s (cos(x_i, x_j) - 1) + log r_ij),     the score for i itself: 0

    A = the mean of A^(s) over s = 0.6 k and 1.2 k, and 0.25 k where k <= 32;   Z = A^h X, its rows of length one

p_ij: the kinship of the edge (quartet: many tests), in units of s; cos: one test (self); r_ij = 1 where i is among the
s nearest of j as j is among those of i, `one_way` where it is not. Several scales, because classes of one set differ
in size and k is an estimate; the 0.25 k scale, because a small k may be that of a family of look-alikes, and a row
then still attends most to its own class. Each row of A is computed once and serves every probe: h hops cost h sparse
products, where the sub-graphs of all probes would compute all rows again for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import MOST_HOPS, check_choice, check_number, check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.kernels import kernel, over_spans
from kinfolk._core.rows import of_length_one
from kinfolk.kinship.edge_probabilities import probability_blocks, scales_around, window_of
from kinfolk.kinship.network import KinshipNetwork
from kinfolk.neighbors import NeighborGraph

NEGLIGIBLE = 1e-6  # attention weights below it are skipped
TRAINING_FREE_SCALE = 15.0  # softmax scale of the training-free quartet form; 10 to 20 are level (docs/attention.md)
ATTENTIONS = ("none", "self", "quartet", "band")
NEAREST_SCALE, SMALL_K = 0.25, 32
BLOCK_ENTRIES = 1 << 22  # floats of the sub-graphs that the training-free form gathers at once


@dataclass(frozen=True)
class Propagation:
    """The numbers of the equation above; `attention` selects its terms, "none" is the plain mean of k neighbours.

    nearest: also attend at the 0.25 k scale where k <= 32; clusters do without it, because it splits classes.
    distilled: learn a map from Z, then propagate the mapped rows (`kinfolk.enhance.distillation`).

    >>> Propagation().hops
    5
    """

    attention: str = "band"
    theta_q: float = 1.25
    theta_s: float = 0.0
    one_way: float = 0.2
    hops: int = 5
    nearest: bool = True
    distilled: bool = True

    def __post_init__(self) -> None:
        check_choice("attention", self.attention, ATTENTIONS)
        check_whole("hops", self.hops)
        check_number("hops", self.hops, least=1, most=MOST_HOPS)
        if not 0 < self.one_way <= 1:
            raise InputError(f"one_way must lie above 0 and not above 1, not {self.one_way}")


def attention_weights(
    settings: Propagation, net: KinshipNetwork, g: NeighborGraph, k: int, queries: NeighborGraph | None = None
) -> NDArray[np.float32]:
    """Return A: (rows, 1 + w), the weight of the row itself first, then those of its w nearest; each row sums to one.

    >>> import kinfolk as kf
    >>> g = kf.knn_graph(kf.datasets.digits(), k=40)
    >>> A = attention_weights(Propagation(), KinshipNetwork.shipped(), g, k=20)
    >>> A.shape, float(A.sum(axis=1).min().round(3))
    ((1797, 41), 1.0)
    """
    probes = g if queries is None else queries
    if settings.attention in ("none", "self"):
        scores = np.zeros((len(probes), min(k, probes.k)), dtype=np.float32)
        if settings.attention == "self":
            scores = settings.theta_s * (np.asarray(probes.similarities[:, : min(k, probes.k)]) - 1)
        return _softmax_with_own(scores)
    weights = np.zeros((len(probes), 1 + min(window_of(k), g.k, probes.k)), dtype=np.float32)
    scales = scales_around(k) + [max(1, round(NEAREST_SCALE * k))] * (settings.nearest and k <= SMALL_K)
    for block in probability_blocks(net, g, [min(scale, g.k) for scale in scales], queries=queries):
        for log_p, reciprocal in zip(block.log_p, block.reciprocal, strict=True):
            found = weigh(settings, log_p, reciprocal, probes.similarities[block.rows])
            weights[block.rows, : found.shape[1]] += found / len(scales)
    return weights


def weigh(
    settings: Propagation,
    log_p: NDArray[np.float32],
    reciprocal: NDArray[np.bool_],
    similarities: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return A^(s) from the kinship of the edges, whether they are reciprocal, and their cosines: (b, w) -> (b, 1 + w).

    >>> weigh(Propagation(), np.log([[0.5]]), np.array([[True]]), np.array([[0.9]])).round(2)
    array([[0.7, 0.3]], dtype=float32)
    """
    scores = settings.theta_q * log_p
    if settings.attention == "band" and settings.theta_s:
        scores += settings.theta_s * (similarities[:, : log_p.shape[1]] - 1)
    scores += np.where(reciprocal, np.float32(0), np.log(np.float32(settings.one_way)))
    return _softmax_with_own(scores)


def training_free_weights(
    X: NDArray[np.float32],
    g: NeighborGraph,
    k: int,
    queries: NeighborGraph | None = None,
    known: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return A of the training-free quartet form, tests at one k and nothing learned: (rows, 1 + k).

    A_ij = softmax_j(scale A_qart,ij) over i itself and its reciprocal neighbours, A_X clamped at 0 (W = identity)

    >>> import kinfolk as kf
    >>> X = np.eye(3, dtype=np.float32).repeat(3, axis=0) + 0.1
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> training_free_weights(X, kf.knn_graph(X, k=4), k=2)[0].round(2)
    array([0.33, 0.33, 0.33], dtype=float32)
    """
    probes, others = (g, X) if queries is None or known is None else (queries, known)
    k = min(k, probes.k)
    weights = np.empty((len(probes), k + 1), dtype=np.float32)
    last = np.asarray(g.similarities[:, min(k, g.k) - 1])
    step = max(1, BLOCK_ENTRIES // ((k + 1) * X.shape[1]))
    for start in range(0, len(probes), step):
        rows = slice(start, start + step)
        neighbors = np.asarray(probes.indices[rows, :k])
        block = np.concatenate([X[rows, None], others[neighbors]], axis=1)
        tests = np.maximum(block @ block.swapaxes(1, 2), 0)
        tests /= np.linalg.norm(tests, axis=2, keepdims=True)
        scores = TRAINING_FREE_SCALE * ((tests[:, :1] @ tests.swapaxes(1, 2))[:, 0, 1:] - 1)
        scores[probes.similarities[rows, :k] < last[neighbors]] = -np.inf
        weights[rows] = _softmax_with_own(scores)
    return weights


def propagate(
    weights: NDArray[np.float32], indices: NDArray[np.int32], features: NDArray[np.float32], own: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return one hop: weights[:, 0] own + the weighted mean of the neighbours' features, (rows, d).

    >>> X = np.eye(3, dtype=np.float32)
    >>> propagate(np.array([[0.5, 0.5]], dtype=np.float32), np.array([[2]], dtype=np.int32), X, X[:1])
    array([[0.5, 0. , 0.5]], dtype=float32)
    """
    indices = np.ascontiguousarray(indices[:, : weights.shape[1] - 1])
    out = np.empty((len(weights), features.shape[1]), dtype=np.float32)
    over_spans(lambda a, b: _hop(weights[a:b], indices[a:b], features, own[a:b], out[a:b]), len(out))
    return out


def _softmax_with_own(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the softmax over the row itself, whose score is 0, and its neighbours: (rows, 1 + w)."""
    weights = np.empty((len(scores), scores.shape[1] + 1), dtype=np.float32)
    weights[:, 0] = 1
    np.exp(scores, out=weights[:, 1:])
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def after_hops(
    hops: int, weights: NDArray[np.float32], indices: NDArray[np.int32], X: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return A^hops X, (n, d), not of length one.

    >>> A = np.full((2, 2), 0.5, dtype=np.float32)
    >>> after_hops(2, A, np.array([[1], [0]]), np.eye(2, dtype=np.float32)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    for _ in range(hops):
        X = propagate(weights, indices, X, X)
    return X


def after_hops_among(
    hops: int,
    weights: NDArray[np.float32],
    indices: NDArray[np.int32],
    X: NDArray[np.float32],
    their_weights: NDArray[np.float32],
    their_indices: NDArray[np.int32],
    known: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return rows X (m, d) after hops among known rows (n, d), which hop as if they were alone; of length one.

    Shapes: weights (m, 1 + w) and indices (m, w) of the rows among the known ones; theirs of (n, ...) rows.

    >>> X = np.eye(2, dtype=np.float32)
    >>> A, near = np.full((1, 2), 0.5, dtype=np.float32), np.array([[1]], dtype=np.int32)
    >>> still = np.array([[1, 0], [1, 0]], dtype=np.float32), np.zeros((2, 1), dtype=np.int32)
    >>> after_hops_among(1, A, near, X[:1], *still, X).round(2)
    array([[0.71, 0.71]], dtype=float32)
    """
    for _ in range(hops):
        X, known = (
            propagate(weights, indices, known, X),
            propagate(their_weights, their_indices, known, known),
        )
    return of_length_one(X)


@kernel(fastmath=True)
def _hop(
    weights: NDArray[np.float32],
    indices: NDArray[np.int32],
    features: NDArray[np.float32],
    own: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    rows, w = indices.shape
    for i in range(rows):
        for c in range(features.shape[1]):
            out[i, c] = weights[i, 0] * own[i, c]
        for a in range(w):
            weight = weights[i, a + 1]
            if weight > NEGLIGIBLE:
                j = indices[i, a]
                for c in range(features.shape[1]):
                    out[i, c] += weight * features[j, c]
