"""Sub-graphs that overlap, encoded as one: what a pair of nodes has in common is worked out once a batch.

Neighbours share neighbours, so the P sub-graphs of a batch of near probes hold U nodes, far fewer than P (k + 1). A
single layer needs the probes' rows only, and of the quartet attention, with T the cosines of the U nodes,

    A_qart[p, j] = a_p . T[:, j] / (|T_p[p]| |T_p[j]|),   a_p = T[p] W_Q W_K^T at the places of p's sub-graph, else 0,
    |T_p[j]|^2   = m_p . T[:, j]^2,                       m_p = 1 at the places of p's sub-graph, else 0,

which are two products of (P, U) with (U, U). Of several layers, the first has its cosines and its self attention for
the U nodes, of which each sub-graph takes its part. It pays where U^2 is small beside the P (k + 1)^2 pairs of the
sub-graphs one by one; the numbers are the same up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from kinfolk.nn.attention import Attention, BandAttention, FormedBand, Projected, QuartetAttention
from kinfolk.nn.attention.base import times_theta
from kinfolk.nn.attention.pairs import gram
from kinfolk.nn.encoder import Encoder, take
from kinfolk.nn.layers import FormedLayer, GCNLayer, TransformerLayer

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


class FormedEncoder:
    """An `Encoder` of GCN layers with A_band where nothing is learned, see `FormedLayer`: many sub-graphs, quickly.

    >>> from kinfolk.nn import EncoderConfig
    >>> encoder = Encoder(EncoderConfig(in_dim=2, k=1, layers=2))
    >>> features, nodes = torch.eye(2), torch.tensor([[0, 1], [1, 0]])
    >>> with torch.inference_mode():
    ...     formed = FormedEncoder.of(encoder, size=2)
    ...     rows = formed.finish(formed.joined(features, formed.project(features), nodes))
    ...     bool(torch.allclose(rows, encoder.probe_rows(features[nodes]), atol=1e-6))
    True
    """

    def __init__(self, layers: list[FormedLayer]) -> None:
        """Take the layers, first to last."""
        *self.before, self.last = layers

    @classmethod
    def of(cls, encoder: Encoder, size: int) -> FormedEncoder | None:
        """Return that of the encoder for sub-graphs of `size` rows, None where it is another kind of encoder."""
        layers = []
        for layer in encoder.layers:
            if not isinstance(layer, GCNLayer) or (band := FormedBand.of(layer.attention, size)) is None:
                return None
            layers.append(FormedLayer(layer, band))
        return cls(layers)

    def project(self, features: Tensor) -> dict[str, Tensor]:
        """Return what the first layer makes of each node alone, (N, in_dim) -> (N, ...) each; an only one just asks."""
        return self.before[0].project(features) if self.before else {"asked": features @ self.last.band.asking}

    def joined(self, features: Tensor, projected: Projected, nodes: Tensor) -> Tensor:
        """Return [X, A X] of the probes in the last layer, A X alone without concat, (P, 2 in_dim or in_dim).

        Shapes: features (N, in_dim), projected = project(features), nodes (P, L) int64, the probe first.
        """
        unique, places = (torch.from_numpy(found) for found in distinct(nodes.numpy()))
        share = len(unique) ** 2 <= PAYS * nodes.numel() * nodes.shape[1]
        if not self.before:
            if share:
                asked = projected["asked"].index_select(0, nodes[:, 0])
                return self._only(features.index_select(0, unique), asked, places)
            return self.last.joined(take(features, nodes))
        first, *between = self.before
        if share:
            x, asked = features.index_select(0, unique), projected["asked"].index_select(0, unique)
            products, duet = (_blocks_of(matrix, places) for matrix in first.pairs(x, asked))
            mine = {name: take(known, nodes) for name, known in projected.items() if name != "asked"}
            x = first.all_rows(products, duet, mine)
        else:
            x = first.next_rows(take(features, nodes), {name: take(known, nodes) for name, known in projected.items()})
        for layer in between:
            x = layer.next_rows(x, layer.project(x))
        return self.last.joined(x)

    def finish(self, joined: Tensor) -> Tensor:
        """Return the probes' rows of the last layer, (P, in_dim)."""
        return self.last.finish(joined)

    def _only(self, x: Tensor, asked: Tensor, places: Tensor) -> Tensor:
        """Return `joined` of a single layer: x (U, M), asked (P, M), places (P, L)."""
        band = self.last.band
        tests = gram(normalize(x, dim=-1))
        tests = tests if band.floor is None else tests.clamp_(min=band.floor)
        first = tests.index_select(0, places[:, 0]).gather(1, places)
        through = normalize(first, dim=-1) @ band.middle
        scores = torch.from_numpy(seen_alike(tests.numpy(), places.numpy(), through.numpy()))
        weights = (scores + (asked @ x.T).gather(1, places)).softmax(dim=-1)
        return self.last.join(x.index_select(0, places[:, 0]), _spread(weights, places, len(x)) @ x)


@njit(cache=True, nogil=True)
def distinct(nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each of the nodes (P, L) once, as they come, (U,), and where each of them is found there, (P, L).

    What np.unique does, by a table of hashes in place of sorting.

    >>> distinct(np.array([[7, 2], [2, 5]]))
    (array([7, 2, 5]), array([[0, 1],
           [1, 2]]))
    """
    size = 2
    while size < 2 * nodes.size:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    unique, places = np.empty(nodes.size, dtype=np.int64), np.empty(nodes.shape, dtype=np.int64)
    count = 0
    for p in range(nodes.shape[0]):
        for i in range(nodes.shape[1]):
            slot = nodes[p, i] * 0x9E3779B1 & (size - 1)
            while table[slot] >= 0 and unique[table[slot]] != nodes[p, i]:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot], unique[count] = count, nodes[p, i]
                count += 1
            places[p, i] = table[slot]
    return unique[:count].copy(), places


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def seen_alike(
    tests: NDArray[np.float32], places: NDArray[np.int64], asked: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return a_p . T_p[j] / |T_p[j]|, T_p the rows and columns of T (U, U) at p's places; places, a (P, L) -> (P, L).

    >>> seen_alike(np.array([[1.0, 0.6], [0.6, 0.8]]), np.array([[0, 1]]), np.array([[0.0, 1.0]])).round(2)
    array([[0.51, 0.8 ]])
    """
    result = np.empty_like(asked)
    for p in range(len(places)):
        for j in range(places.shape[1]):
            row = tests[places[p, j]]
            squares, total = tests.dtype.type(0), tests.dtype.type(0)
            for i in range(places.shape[1]):
                test = row[places[p, i]]
                squares += test * test
                total += asked[p, i] * test
            result[p, j] = total / max(np.sqrt(squares), _TINY)
    return result


@njit(cache=True, nogil=True)
def blocks(matrix: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the rows and columns of the matrix (U, U) at the places (P, L) of each sub-graph, (P, L, L).

    >>> blocks(np.arange(9).reshape(3, 3), np.array([[2, 0]])).tolist()
    [[[8, 6], [2, 0]]]
    """
    count, size = places.shape
    result = np.empty((count, size, size), dtype=matrix.dtype)
    for p in range(count):
        for i in range(size):
            row = matrix[places[p, i]]
            for j in range(size):
                result[p, i, j] = row[places[p, j]]
    return result


def _blocks_of(matrix: Tensor, places: Tensor) -> Tensor:
    return torch.from_numpy(blocks(matrix.numpy(), places.numpy()))


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
