"""How a fitted `GraphEnhancer` enhances rows, alone or against a reference: near copies, graph, k, map, hops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.errors import InputError
from kinfolk._core.progress import stage
from kinfolk._core.rows import of_length_one
from kinfolk.enhance._settings import wants_subgraphs
from kinfolk.enhance.distillation import Distilled, distil, k_to_learn_from, strength
from kinfolk.enhance.propagation import (
    Propagation,
    after_hops,
    after_hops_among,
    attention_weights,
    training_free_weights,
)
from kinfolk.enhance.with_labels import apply_metric
from kinfolk.features import UnitRows
from kinfolk.kinship import choose_k
from kinfolk.kinship.choose_k import CANDIDATES, k_after_training, k_for_features, neighbors_to_choose
from kinfolk.kinship.edge_probabilities import window_of
from kinfolk.neighbors import NeighborGraph, knn_graph
from kinfolk.neighbors.copies import graph_among, near_copies
from kinfolk.neighbors.ranked import ranked

if TYPE_CHECKING:
    from kinfolk.enhance.graph_enhancer import GraphEnhancer


def enhance(
    e: GraphEnhancer, rows: NDArray[np.float32], propagation: Propagation, g: NeighborGraph | None = None
) -> NDArray[np.float32]:
    """Return the centred rows enhanced; g: their graph where it is known."""
    if e.encoder_ is not None:
        return _enhance_by_encoder(e, rows, g)
    if len(rows) < 2:
        return apply_metric(rows, e.metric_)
    things, plain, which = distinct(e, rows, graph_of(e, rows) if g is None else g)
    X = apply_metric(things, e.metric_)
    mapped = plain if e.metric_ is None else graph_of(e, X)
    k = k_for(e, mapped, plain, fitted=g is not None)
    learned, Z = _propagated(e, propagation, X, mapped, k)
    if len(Z) == len(rows):
        return Z
    own, shown = apply_metric(rows, e.metric_), X
    if learned is not None:
        own, shown = learned.of(own), learned.rows
    own = own - shown[which]  # what a copy has of its own goes with it
    return of_length_one(Z[which] + own, Z[which])


def enhance_against(
    e: GraphEnhancer, rows: NDArray[np.float32], known_rows: NDArray[np.float32], propagation: Propagation
) -> NDArray[np.float32]:
    """Return the rows enhanced by the neighbours they have in the reference."""
    if len(known_rows) < 2:
        raise InputError(f"a reference needs at least 2 rows, not {len(known_rows)}")
    X = apply_metric(rows, e.metric_)
    if e.encoder_ is not None:
        known = apply_metric(known_rows, e.metric_)
        g = graph_of(e, known)
        return _encode(e, known, graph_of(e, known, X).indices[:, : k_for(e, g, g)], X)
    known_rows, plain, _ = distinct(e, known_rows, graph_of(e, known_rows))
    known = apply_metric(known_rows, e.metric_)
    g = plain if e.metric_ is None else graph_of(e, known)
    queries = graph_of(e, known, X)
    k = k_for(e, g, plain)
    learned = _distilled(e, propagation, known, g, k)
    if learned is not None:
        X, known = learned.of(X), learned.rows
        g, queries = ranked(known, g, window_of(k), g.k), ranked(X, queries, window_of(k), queries.k, known)
    weights = _weights(e, propagation, X, g, k, queries, known)
    their_weights = _weights(e, propagation, known, g, k)
    return after_hops_among(propagation.hops, weights, queries.indices, X, their_weights, g.indices, known)


def distinct(
    e: GraphEnhancer, rows: NDArray[np.float32], g: NeighborGraph
) -> tuple[NDArray[np.float32], NeighborGraph, NDArray[np.int64]]:
    """Return rows (m, d) without near copies, their graph, and which of them each of (n, d) shows, (n,).

    Copies would fill each other's neighbourhoods, and a row would be a mean of nothing else. g: the graph of all.
    """
    shown, which, _ = near_copies(g.indices, g.similarities, X=rows)
    if not 1 < len(shown) < len(rows):
        return rows, g, np.arange(len(rows))
    # a graph to choose k on is far wider than the k that is chosen; one for a given k is just wide enough
    fewest = min(g.k // 2 if e.k == "auto" else g.k, len(shown) - 1)
    return rows[shown], graph_among(g, shown, fewest) or graph_of(e, rows[shown]), which


def graph_of(e: GraphEnhancer, X: NDArray[np.float32], queries: NDArray[np.float32] | None = None) -> NeighborGraph:
    """Return the graph with as many neighbours as are looked at: the largest k there may be, or the one given."""
    if e.k != "auto":
        wanted = window_of(int(e.k))
    elif wants_subgraphs(e):
        wanted = window_of(getattr(e, "k_", max(CANDIDATES)))
    else:
        wanted = neighbors_to_choose(len(X))
    return knn_graph(
        UnitRows(X),
        k=max(1, min(wanted, len(X) - (queries is None))),
        queries=None if queries is None else UnitRows(queries),
        method=e.method,
        seed=e.random_state,
        show_progress=e.show_progress,
    )


def choose_k_of(e: GraphEnhancer, g: NeighborGraph) -> int:
    with stage("choosing k", e.show_progress):
        if e.pretrained:
            return k_for_features(e.net_, g, e.random_state)
        return choose_k(g.restrict(min(g.k, max(CANDIDATES)))) if g.k >= 5 else g.k


def k_for(e: GraphEnhancer, g: NeighborGraph, plain: NeighborGraph, fitted: bool = False) -> int:
    """Return k for this graph: chosen anew with "auto", since another set may have classes of another size.

    plain: the graph of the rows before the metric, which makes neighbourhoods look more closed than they are;
    fitted: it is that of the fit.
    """
    if e.k != "auto":
        k = int(e.k)
    elif e.encoder_ is not None or (fitted and e.class_size_ is None):
        k = e.k_
    else:
        own = choose_k_of(e, plain)
        k = k_after_training(own, e.k_free_, e.k_) if e.trained_ else own
    return max(1, min(k, g.k))


def _propagated(
    e: GraphEnhancer, propagation: Propagation, X: NDArray[np.float32], g: NeighborGraph, k: int
) -> tuple[Distilled | None, NDArray[np.float32]]:
    """Return the map that was learned on the way, if one was, and rows X (n, d) of length one after the hops."""
    learned = _distilled(e, propagation, X, g, k)
    if learned is not None:
        X, g = learned.rows, ranked(learned.rows, g, window_of(k), g.k)
    weights = _weights(e, propagation, X, g, k)
    return learned, of_length_one(after_hops(propagation.hops, weights, g.indices, X))


def _distilled(
    e: GraphEnhancer, propagation: Propagation, X: NDArray[np.float32], g: NeighborGraph, k: int
) -> Distilled | None:
    if not (propagation.distilled and strength(*X.shape)):
        return None
    weights = _weights(e, propagation, X, g, k_to_learn_from(k))
    Z = of_length_one(after_hops(propagation.hops, weights, g.indices, X))
    return distil(X, Z, g.indices, e.random_state)


def _weights(
    e: GraphEnhancer,
    propagation: Propagation,
    X: NDArray[np.float32],
    g: NeighborGraph,
    k: int,
    queries: NeighborGraph | None = None,
    known: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    with stage("testing edges", e.show_progress):
        if e.pretrained or propagation.attention in ("none", "self"):
            return attention_weights(propagation, e.net_, g, k, queries)
        return training_free_weights(X, g, k, queries, known)


def _enhance_by_encoder(e: GraphEnhancer, rows: NDArray[np.float32], g: NeighborGraph | None) -> NDArray[np.float32]:
    X = apply_metric(rows, e.metric_)
    if len(X) < 2:
        return _encode(e, X, np.empty((len(X), 0), dtype=int))
    mapped = graph_of(e, X) if g is None or e.metric_ is not None else g
    return _encode(e, X, mapped.indices[:, : k_for(e, mapped, mapped)])


def _encode(
    e: GraphEnhancer, X: NDArray[np.float32], indices: NDArray[np.integer], probes: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    from kinfolk.nn.encode import encode_all

    assert e.encoder_ is not None
    return encode_all(e.encoder_, X, indices, probes)
