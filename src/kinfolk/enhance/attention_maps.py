"""The attention a fitted encoder of sub-graphs pays on given rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinfolk._core.errors import InputError
from kinfolk.enhance.graph_enhancer import GraphEnhancer
from kinfolk.features import Matrix


class AttentionMaps(NamedTuple):
    """Sub-graphs of P probes, L = k + 1 nodes each, the probe first.

    nodes (P, L): rows of X. cosines (P, L, L): of the features as the encoder is given them. weights[form] (P, L, L):
    the attention of node i to node j in the last layer, the mean over the heads; each row sums to one.
    """

    nodes: NDArray[np.int64]
    cosines: NDArray[np.float32]
    weights: dict[str, NDArray[np.float32]]


def attention_maps(enhancer: GraphEnhancer, X: Matrix, probes: ArrayLike) -> AttentionMaps:
    """Return the attention of a fitted enhancer with model="subgraph" in the sub-graphs of some rows of X.

    A band of attention gives three forms: "self" and "quartet", the softmax of each term with its learned weight, and
    "band".

    Memory: L (d + 5 L) floats a probe.

    Parameters
    ----------
    enhancer : fitted, with model="subgraph".
    X : (n, d) features.
    probes : rows of X.

    Returns
    -------
    AttentionMaps

    Examples
    --------
    >>> X = np.eye(5) + 0.1
    >>> found = attention_maps(GraphEnhancer(k=2, model="subgraph").fit(X), X, probes=[4, 0])
    >>> found.nodes[:, 0], {form: weights.shape for form, weights in found.weights.items()}
    (array([4, 0]), {'self': (2, 3, 3), 'quartet': (2, 3, 3), 'band': (2, 3, 3)})
    """
    from kinfolk.nn.encode import maps_of

    rows, neighbors = enhancer.subgraphs(X)
    if enhancer.encoder_ is None:
        raise InputError('attention maps are those of an encoder: fit a GraphEnhancer with model="subgraph"')
    own = np.asarray(probes, dtype=np.int64)
    nodes = np.concatenate([own[:, None], neighbors[own].astype(np.int64)], axis=1)
    return AttentionMaps(nodes, *maps_of(enhancer.encoder_, rows[nodes]))
