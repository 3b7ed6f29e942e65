"""The features in which Kin grows its trees, from one search for neighbours.

    given     C, the rows less their mean, of length one
    enhanced  Z = A^5 C, of length one (`kinfolk.enhance.propagation`), or what a fitted enhancer makes of the rows
    both      C and A^2 C side by side: their similarity is the mean of both, so that a k too large for small classes
              does less harm

Neighbours by Z are looked for among those by C: propagation moves a row towards its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.kernels import kernel, over_spans
from kinfolk._core.rows import of_length_one
from kinfolk.cluster._internal.candidates import BOTH, ENHANCED, HOPS, RAW
from kinfolk.enhance import GraphEnhancer
from kinfolk.enhance.propagation import Propagation, attention_weights, propagate
from kinfolk.features import UnitRows
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.choose_k import k_for_features, neighbors_to_choose
from kinfolk.neighbors import NeighborGraph, knn_graph

SCENE_NEIGHBORS = 64  # that scenes and near copies read
TREE_NEIGHBORS = 15  # that trees read
REACH = 4  # in k: how far down the list of C the neighbours by Z are looked for
EXACT_BUDGET = 4e11  # multiplications and additions of the whole search, above which it is approximate
RECALL = 0.9  # then: many neighbours vouch for a row, one in ten may be missing


class Spaces(NamedTuple):
    """Features (n, d) by kind and their neighbours (n, w), best first.

    Attributes
    ----------
    features : by RAW, BOTH, ENHANCED; only RAW where rows are taken as they are.
    neighbors : of each kind, at least 15; the enhanced ones are 64.
    graph : the neighbours by C that all come from.
    mean : (d,) what was subtracted from the rows.
    k : of the propagation; 0 without.
    """

    features: dict[int, NDArray[np.float32]]
    neighbors: dict[int, NDArray[np.int32]]
    similarities: NDArray[np.float32]
    graph: NeighborGraph
    mean: NDArray[np.float32]
    k: int

    @property
    def best(self) -> NDArray[np.float32]:
        """The enhanced features, or the only ones."""
        return self.features.get(ENHANCED, self.features[RAW])

    def nearest(self, k: int) -> NeighborGraph:
        """Return the graph of the k nearest by the best features."""
        if ENHANCED not in self.features:
            return self.graph.restrict(min(k, self.graph.k))
        return ranked(self.best, self.graph, k, max(k, self._window()))

    def _window(self) -> int:
        return window(self.graph, self.k)


def window(g: NeighborGraph, k: int) -> int:
    """Return how far down the list of each row neighbours by other features are looked for."""
    return g.k if not k else min(g.k, max(REACH * k, 2 * SCENE_NEIGHBORS))


def centred(unit: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows (n, d) less the mean, of length one.

    >>> centred(np.eye(2, dtype=np.float32), np.array([1, 0], dtype=np.float32)).round(2)
    array([[ 1.  ,  0.  ],
           [-0.71,  0.71]], dtype=float32)
    """
    return of_length_one(unit - mean, unit)


def search(C: NDArray[np.float32], seed: int) -> NeighborGraph:
    """Return the graph of as many neighbours as k may be chosen from, approximate for large sets."""
    n, d = C.shape
    wanted = min(n - 1, max(neighbors_to_choose(n), SCENE_NEIGHBORS))
    if 2.0 * n * n * d <= EXACT_BUDGET:
        return knn_graph(UnitRows(C), wanted, method="exact", seed=seed)
    return knn_graph(UnitRows(C), wanted, method="ivf", recall=RECALL, seed=seed)


def spaces_of(
    unit: NDArray[np.float32],
    C: NDArray[np.float32],
    mean: NDArray[np.float32],
    g: NeighborGraph,
    enhancer: GraphEnhancer | None,
    seed: int,
    k: int | None = None,
) -> Spaces:
    """Return all spaces of rows (n, d) of length one; C (n, d): the rows less their mean; g: the graph of C.

    enhancer: a fitted one instead of the propagation; k: of the propagation, chosen unless it is given.
    """
    if enhancer is not None:
        Z = enhancer.transform(UnitRows(unit), nearest_scale=False)
        return _spaces(C, Z, Z, g, mean, 0)
    net = KinshipNetwork.shipped()
    k = k_for_features(net, g, seed) if k is None else min(k, g.k)
    weights = attention_weights(Propagation(nearest=False), net, g, k)
    Z = few = C
    for hop in range(1, HOPS[ENHANCED] + 1):
        Z = propagate(weights, g.indices, Z, Z)
        few = Z if hop == HOPS[BOTH] else few
    return _spaces(C, of_length_one(few), of_length_one(Z), g, mean, k)


def only_given(C: NDArray[np.float32], mean: NDArray[np.float32], g: NeighborGraph) -> Spaces:
    """Return rows (n, d) that are taken as they are."""
    return Spaces({RAW: C}, {RAW: g.indices}, np.asarray(g.similarities[:, :SCENE_NEIGHBORS]), g, mean, 0)


def side_by_side(C: NDArray[np.float32], Z: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows whose similarity is the mean of those in C and in Z, both of length one: (n, d + d').

    >>> side_by_side(np.ones((1, 1), dtype=np.float32), -np.ones((1, 1), dtype=np.float32)).round(2)
    array([[ 0.71, -0.71]], dtype=float32)
    """
    return np.hstack([C, Z]) * np.float32(np.sqrt(0.5))


def _spaces(
    C: NDArray[np.float32],
    few: NDArray[np.float32],
    Z: NDArray[np.float32],
    g: NeighborGraph,
    mean: NDArray[np.float32],
    k: int,
) -> Spaces:
    both = side_by_side(C, few)
    h = ranked(Z, g, SCENE_NEIGHBORS, window(g, k))
    near_both = ranked(both, g, TREE_NEIGHBORS, SCENE_NEIGHBORS)
    features = {RAW: C, BOTH: both, ENHANCED: Z}
    neighbors = {RAW: g.indices, BOTH: near_both.indices, ENHANCED: h.indices}
    return Spaces(features, neighbors, h.similarities, g, mean, k)


def ranked(X: NDArray[np.float32], g: NeighborGraph, k: int, among: int) -> NeighborGraph:
    """Return the k best of the first `among` neighbours in g, by the cosines of X (n, d) of length one.

    >>> import kinfolk as kf
    >>> X = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    >>> ranked(X, kf.knn_graph(np.eye(3) + 0.1, 2), 1, 2).indices.ravel()
    array([1, 0, 0], dtype=int32)
    """
    among, k = min(among, g.k), min(k, g.k)
    k = min(k, among)
    n = len(X)
    indices, similarities = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
    given = np.ascontiguousarray(g.indices[:, :among], dtype=np.int32)
    over_spans(lambda first, last: _rank(first, last, X, given, indices, similarities), n)
    return NeighborGraph(indices, similarities, n, g.method, g.recall)


def cosines(X: NDArray[np.float32], indices: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the cosine of each row of X (n, d) of length one with its neighbours (n, k): (n, k).

    >>> cosines(np.eye(2, dtype=np.float32)[[0, 0, 1]], np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32)).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    result = np.empty(indices.shape, dtype=np.float32)
    given = np.ascontiguousarray(indices, dtype=np.int32)
    over_spans(lambda first, last: _cosines(first, last, X, given, result), len(X))
    return result


@kernel(fastmath={"reassoc", "contract"})
def _cosine(X: NDArray[np.float32], i: int, j: int) -> np.float32:
    total = np.float32(0)
    for column in range(X.shape[1]):
        total += X[i, column] * X[j, column]
    return min(max(total, np.float32(-1)), np.float32(1))


@kernel()
def _cosines(
    first: int, last: int, X: NDArray[np.float32], indices: NDArray[np.int32], result: NDArray[np.float32]
) -> None:
    for i in range(first, last):
        for a in range(indices.shape[1]):
            result[i, a] = _cosine(X, i, indices[i, a])


@kernel()
def _rank(
    first: int,
    last: int,
    X: NDArray[np.float32],
    given: NDArray[np.int32],
    indices: NDArray[np.int32],
    similarities: NDArray[np.float32],
) -> None:
    k = indices.shape[1]
    scores = np.empty(given.shape[1], np.float32)
    for i in range(first, last):
        for a in range(given.shape[1]):
            scores[a] = -_cosine(X, i, given[i, a])
        order = np.argsort(scores, kind="mergesort")  # stable: of equal ones the nearer by the graph first
        for a in range(k):
            indices[i, a], similarities[i, a] = given[i, order[a]], -scores[order[a]]
