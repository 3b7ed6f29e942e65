"""The features in which Kin grows its trees, from one search for neighbours.

    given     C, the rows less their mean, of length one, by the map that they learn (`kinfolk.enhance.distillation`)
    enhanced  Z = A^5 C, of length one (`kinfolk.enhance.propagation`), or what a fitted enhancer makes of the rows
    both      C and A^2 C side by side: their similarity is the mean of both, so that a k too large for small classes
              does less harm

Neighbours by Z are looked for among those by C: propagation moves a row towards its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.rows import of_length_one
from kinfolk.cluster._internal.candidates import BOTH, ENHANCED, HOPS, RAW
from kinfolk.enhance import GraphEnhancer
from kinfolk.enhance.distillation import Distilled, distil, k_to_learn_from, strength
from kinfolk.enhance.propagation import Propagation, after_hops, after_hops_among, attention_weights
from kinfolk.features import UnitRows
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.choose_k import k_for_features, neighbors_to_choose
from kinfolk.kinship.edge_probabilities import window_of
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.neighbors.ranked import ranked

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
    learned : the map of the centred rows that the features start from, where one was learned.
    """

    features: dict[int, NDArray[np.float32]]
    neighbors: dict[int, NDArray[np.int32]]
    similarities: NDArray[np.float32]
    graph: NeighborGraph
    mean: NDArray[np.float32]
    k: int
    learned: Distilled | None = None

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
    k = k_for_features(KinshipNetwork.shipped(), g, seed) if k is None else min(k, g.k)
    learned = None
    if strength(*C.shape):
        learned = distil(C, _after_hops(C, g, k_to_learn_from(k))[1], g.indices, seed)
    if learned is not None:
        C, g = learned.rows, ranked(learned.rows, g, g.k, g.k)
    few, Z = _after_hops(C, g, k)
    return _spaces(C, few, Z, g, mean, k)._replace(learned=learned)


def in_space(new: NDArray[np.float32], spaces: Spaces, source: int) -> NDArray[np.float32]:
    """Return new rows (m, d) of length one, as they were given, as features of one kind: as the fitted rows were made.

    Only where the features come from the propagation, or are the given ones.
    """
    C = centred(new, spaces.mean)
    C = C if spaces.learned is None else spaces.learned.of(C)
    if source == RAW:
        return C
    known, k, g = spaces.features[RAW], spaces.k, spaces.graph
    queries = knn_graph(UnitRows(known), min(window_of(k), len(known)), queries=UnitRows(C), show_progress=False)
    settings, net = Propagation(nearest=False), KinshipNetwork.shipped()
    weights, theirs = attention_weights(settings, net, g, k, queries), attention_weights(settings, net, g, k)
    Z = after_hops_among(HOPS[source], weights, queries.indices, C, theirs, g.indices, known)
    return Z if source == ENHANCED else side_by_side(C, Z)


def _after_hops(C: NDArray[np.float32], g: NeighborGraph, k: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return rows (n, d) of length one after the hops of both features, and after all."""
    weights = attention_weights(Propagation(nearest=False), KinshipNetwork.shipped(), g, k)
    few = after_hops(HOPS[BOTH], weights, g.indices, C)
    Z = after_hops(HOPS[ENHANCED] - HOPS[BOTH], weights, g.indices, few)
    return of_length_one(few), of_length_one(Z)


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
