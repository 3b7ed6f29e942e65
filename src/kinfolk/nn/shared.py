"""Sub-graphs that overlap, encoded as one: what a pair of nodes has in common is worked out once a batch.

Neighbours share neighbours, so the P sub-graphs of a batch of near probes hold U nodes, far fewer than P (k + 1). A
single layer needs the probes' rows only, and of the quartet attention, with T the cosines of the U nodes,

    A_qart[p, j] = a_p . T[:, j] / (|T_p[p]| |T_p[j]|),   a_p = T[p] W_Q W_K^T at the places of p's sub-graph, else 0,
    |T_p[j]|^2   = m_p . T[:, j]^2,                       m_p = 1 at the places of p's sub-graph, else 0,

which are two products of (P, U) with (U, U). It pays where U^2 is small beside the P (k + 1)^2 pairs of the sub-graphs
one by one; the numbers are the same up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from kinfolk.nn.attention import Attention, BandAttention, QuartetAttention
from kinfolk.nn.attention._base import times_theta
from kinfolk.nn.encoder import Encoder
from kinfolk.nn.layers import GCNLayer, TransformerLayer

BLOCK = 128  # rows of T at once
PAYS = 1.5  # times the pairs of the sub-graphs one by one, which are smaller products
_TINY = 1e-12


@dataclass(frozen=True)
class SharedBatch:
    """P sub-graphs of L rows over U nodes.

    x        (U, M) the probes, then every neighbour once
    places   (P, L) the rows of x each sub-graph is made of, the probe first
    real     (P, L) 1 where a row of a sub-graph is real, 0 where it is padding
    members  (P, U) how often a node is in a sub-graph

    >>> batch = SharedBatch.of(torch.eye(3)[:2], torch.eye(3), torch.tensor([[1, 2], [0, 2]]))
    >>> batch.x.shape, batch.places.tolist(), batch.members.tolist()
    (torch.Size([5, 3]), [[0, 3, 4], [1, 2, 4]], [[1.0, 0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0, 1.0]])
    """

    x: Tensor
    places: Tensor
    real: Tensor
    members: Tensor

    @classmethod
    def of(cls, probes: Tensor, features: Tensor, neighbors: Tensor, mask: Tensor | None = None) -> SharedBatch:
        """Return the batch of the probes (P, M) with neighbors (P, k), rows of the features (N, M); mask (P, k + 1)."""
        nodes, places = torch.unique(neighbors, return_inverse=True)
        return cls._over(probes, features, nodes, places, mask)

    @classmethod
    def where_it_pays(cls, probes: Tensor, features: Tensor, neighbors: Tensor) -> SharedBatch | None:
        """Return the same where sharing costs less than the sub-graphs one by one, else None.

        Of the U^2 pairs, half are worked out, in larger products than the P (k + 1)^2 pairs of the sub-graphs.

        >>> SharedBatch.where_it_pays(torch.eye(9)[:1], torch.eye(9), torch.tensor([[1, 2]])) is None
        False
        >>> SharedBatch.where_it_pays(torch.eye(9)[:4], torch.eye(9), torch.tensor([[1, 2], [3, 4], [5, 6], [7, 8]]))
        """
        nodes, places = torch.unique(neighbors, return_inverse=True)
        count, k = neighbors.shape
        if (count + len(nodes)) ** 2 > PAYS * count * (k + 1) ** 2:
            return None
        return cls._over(probes, features, nodes, places, None)

    @classmethod
    def _over(cls, probes: Tensor, features: Tensor, nodes: Tensor, places: Tensor, mask: Tensor | None) -> SharedBatch:
        count = len(probes)
        x = torch.cat([probes, features.index_select(0, nodes)])
        places = torch.cat([torch.arange(count, device=x.device)[:, None], count + places], dim=1)
        real = torch.ones(places.shape, dtype=x.dtype, device=x.device) if mask is None else mask.to(x.dtype)
        return cls(x, places, real, _spread(real, places, len(x)))


def serves(encoder: Encoder) -> bool:
    """Tell whether this encoder can be shared: one layer, A_qart or A_band with the rows of A_X normalised.

    >>> from kinfolk.nn import EncoderConfig
    >>> [serves(Encoder(EncoderConfig(2, 2, name, layers=n))) for name, n in (("band", 1), ("band", 2), ("self", 1))]
    [True, False, False]
    """
    quartet = _quartet_of(_only_layer(encoder).attention)
    return len(encoder.layers) == 1 and quartet is not None and (quartet.normalize == "adjacency" or not quartet.ranked)


def shared_rows(encoder: Encoder, batch: SharedBatch) -> Tensor:
    """Return the probes' rows of the only layer, (P, in_dim), of an encoder that `serves`.

    Memory: the (P, U) scores of each head and BLOCK rows of T.

    >>> from kinfolk.nn import EncoderConfig
    >>> encoder = Encoder(EncoderConfig(in_dim=3, k=2))
    >>> features, neighbors = torch.eye(3), torch.tensor([[1, 2], [0, 2]])
    >>> rows = shared_rows(encoder, SharedBatch.of(features[:2], features, neighbors))
    >>> bool(torch.allclose(encoder.head(rows), encoder(features[torch.tensor([[0, 1, 2], [1, 0, 2]])]), atol=1e-6))
    True
    """
    layer = _only_layer(encoder)
    x, count = batch.x[None], len(batch.places)
    quartet = _quartet_of(layer.attention)
    assert quartet is not None
    scores = quartet_scores(quartet, batch)
    if isinstance(layer.attention, BandAttention):
        scores = layer.attention.fuse(scores, layer.attention.self_attention(x, rows=count))
    # log 0 = -inf: only the nodes of a sub-graph count, each as often as it is there
    weights = (scores + batch.members.log()).softmax(dim=-1)
    return layer.mix(weights, x)[0]


def quartet_scores(attention: QuartetAttention, batch: SharedBatch) -> Tensor:
    """Return A_qart of the probes' rows, (1, H, P, U); what is outside of a sub-graph has no meaning.

    >>> batch = SharedBatch.of(torch.eye(3)[:2], torch.eye(3), torch.tensor([[1, 2], [0, 2]]))
    >>> quartet_scores(QuartetAttention(size=3, heads=4), batch).shape
    torch.Size([1, 4, 2, 5])
    """
    unit = normalize(batch.x, dim=-1)
    count, nodes = batch.members.shape
    first = _tests(unit[:count], unit, attention.floor).gather(1, batch.places) * batch.real
    asked = attention.through_middle(first[:, None, None])[:, :, 0] * batch.real[:, None]  # (P, H, L)
    asked = torch.stack([_spread(head, batch.places, nodes) for head in asked.unbind(1)])
    heads = len(asked)
    sums, squares = _products(asked.view(-1, nodes), batch.members, unit, attention.floor)
    inverse = 1 / squares.sqrt().clamp(min=_TINY)
    own = inverse.diagonal()[:, None]
    scores = sums.view(1, heads, count, nodes) * inverse * own
    return times_theta(scores.expand(-1, attention.heads, -1, -1), attention.theta)


def _products(left: Tensor, members: Tensor, unit: Tensor, floor: float | None) -> tuple[Tensor, Tensor]:
    """Return left T and members T^2, T = T^T (U, U) worked out above its diagonal only, BLOCK rows at once."""
    sums, squares = torch.zeros_like(left), torch.zeros_like(members)
    for start in range(0, len(unit), BLOCK):
        stop = min(start + BLOCK, len(unit))
        block = _tests(unit[start:stop], unit[start:], floor)
        for rows, into, matrix in ((left, sums, block), (members, squares, block.square())):
            into[:, start:stop] += rows[:, start:] @ matrix.T
            into[:, stop:] += rows[:, start:stop] @ matrix[:, stop - start :]
    return sums, squares


def _tests(some: Tensor, unit: Tensor, floor: float | None) -> Tensor:
    cosine = some @ unit.T
    return cosine if floor is None else cosine.clamp(min=floor)


def _spread(values: Tensor, places: Tensor, nodes: int) -> Tensor:
    """Return (P, U) with the values (P, L) at their places, added up where a place comes twice."""
    return values.new_zeros(len(values), nodes).scatter_add(1, places, values)


def _only_layer(encoder: Encoder) -> GCNLayer | TransformerLayer:
    layer = encoder.layers[0]
    assert isinstance(layer, GCNLayer | TransformerLayer)
    return layer


def _quartet_of(attention: Attention) -> QuartetAttention | None:
    if isinstance(attention, BandAttention):
        return None if attention.tilde else attention.quartet_attention
    return attention if isinstance(attention, QuartetAttention) else None
