r"""Encoders for inference on one core: the products of weights are multiplied out once.

A_band = X M X^T + A_X N A_X^T,   M = theta_s W_Q W_K^T / sqrt(width)  (dim, dim),   N = theta_q W_Q W_K^T  (L, L)

with W_Q and W_K of the self attention in M and of the quartet in N (`MergedAttention`). No gradient goes through.

`SingleLayer`   one layer with A_qart or A_band: the probe's row of A is computed from cosines that the sub-graphs of
                near probes share (`kinfolk.nn._overlap`)
`MergedLayers`  several GCN layers with A_band
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from kinfolk.nn._overlap import attend_probes, blocks, distinct, overlapping_runs, rows_and_directions
from kinfolk.nn.attention import Attention, BandAttention, Projected, QuartetAttention
from kinfolk.nn.attention._cosines import adjacency_of, gram
from kinfolk.nn.encoder import Encoder, take
from kinfolk.nn.layers import GCNLayer, TransformerLayer

NEW_PAIRS = 2.0  # a sub-graph may add at most so many times its own L^2 pairs to a run that shares cosines
SHARED_PAIRS = 1.5  # several layers: share work if U^2 is at most 1.5 times the P L^2 pairs computed separately


@dataclass(frozen=True)
class MergedAttention:
    """A_band or A_qart of one head for sub-graphs of L rows without padding, with M and N multiplied out.

    self_weight     M (dim, dim); (dim, 0) for A_qart, which has no self attention
    quartet_weight  N (L, L)
    floor           the smallest value of a cosine; None: no limit

    >>> from kinfolk.nn import make_attention
    >>> attention, x = make_attention("band", dim=2, size=3), torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]])
    >>> with torch.inference_mode():
    ...     merged = MergedAttention.of(attention, dim=2, size=3, dtype=x.dtype)
    ...     scores = merged.all_rows(x @ x.mT, x @ merged.self_weight @ x.mT)
    ...     bool(torch.allclose(scores, attention(x)[:, 0], atol=1e-6))
    True
    """

    self_weight: Tensor
    quartet_weight: Tensor
    floor: float | None

    @classmethod
    def of(cls, attention: Attention, dim: int, size: int, dtype: torch.dtype) -> MergedAttention | None:
        """Return the merged form for sub-graphs (size, dim); None if the attention does not have this form."""
        quartet = attention.quartet_attention if isinstance(attention, BandAttention) else attention
        if not isinstance(quartet, QuartetAttention) or quartet.heads > 1:
            return None
        if quartet.normalize == "qk" and quartet.ranked:
            return None
        quartet_weight = _times(quartet.merged_weight(size)[0].to(dtype), quartet.theta)
        if not isinstance(attention, BandAttention):
            return cls(quartet_weight.new_empty(dim, 0), quartet_weight, quartet.floor)
        if attention.tilde or attention.fusion == "mul":
            return None
        pair = attention.self_attention
        self_weight = pair.query @ pair.key.T / math.sqrt(pair.query.shape[1])
        return cls(
            _times(_times(self_weight, attention.theta_self), pair.theta),
            _times(quartet_weight, attention.theta_quartet),
            quartet.floor,
        )

    def all_rows(self, products: Tensor, self_scores: Tensor) -> Tensor:
        """Return A_band before the softmax, (B, L, L), of X X^T and X M X^T, which are overwritten."""
        cosines = adjacency_of(products, self.floor)
        return self_scores.baddbmm_(cosines @ self.quartet_weight, cosines.transpose(1, 2))

    def probe_row(self, x: Tensor) -> Tensor:
        """Return the probes' rows of the same, (B, 1, L), of x (B, L, dim)."""
        cosines = adjacency_of(gram(x), self.floor)
        self_scores = x[:, :1] @ self.self_weight @ x.transpose(1, 2)
        return self_scores.baddbmm_(cosines[:, :1] @ self.quartet_weight, cosines.transpose(1, 2))


class SingleLayer:
    """An encoder of one layer, GCN or Transformer, whose attention can be merged.

    >>> from kinfolk.nn import EncoderConfig
    >>> encoder, features = Encoder(EncoderConfig(in_dim=2, k=1)), torch.eye(2)
    >>> nodes = torch.tensor([[0, 1], [1, 0]])
    >>> with torch.inference_mode():
    ...     merged = SingleLayer.of(encoder, size=2)
    ...     rows = merged.finish(*merged.mix(features, nodes))
    ...     bool(torch.allclose(rows, encoder.probe_rows(features[nodes]), atol=1e-6))
    True
    """

    def __init__(self, layer: GCNLayer | TransformerLayer, attention: MergedAttention) -> None:
        """Keep the layer and its merged attention."""
        self.layer, self.attention = layer, attention

    @classmethod
    def of(cls, encoder: Encoder, size: int) -> SingleLayer | None:
        """Return the merged form for sub-graphs of `size` rows; None for other encoders."""
        layer = encoder.layers[0]
        assert isinstance(layer, GCNLayer | TransformerLayer)
        merged = MergedAttention.of(layer.attention, encoder.config.in_dim, size, next(encoder.parameters()).dtype)
        return None if merged is None or len(encoder.layers) > 1 else cls(layer, merged)

    def mix(self, features: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return X and A X of the probes, (P, M) each: features (N, M), nodes (P, L) int64, the probe first."""
        own = features.index_select(0, nodes[:, 0])
        runs = overlapping_runs(nodes.numpy(), NEW_PAIRS).tolist()
        together = zip(torch.split(own @ self.attention.self_weight, runs), torch.split(nodes, runs), strict=True)
        return own, torch.cat([self._mixed(features, *some) for some in together])

    def finish(self, own: Tensor, mixed: Tensor) -> Tensor:
        """Return the probes' rows of the layer, (P, M'), from X and A X: for many probes one product."""
        return self.layer.finish(own, mixed)

    def _mixed(self, features: Tensor, queries: Tensor, nodes: Tensor) -> Tensor:
        """Return A X of the probes of one run, (P, M), on the cosines of its distinct nodes."""
        unique, places = distinct(nodes.numpy())
        x, directions = rows_and_directions(features.numpy(), unique)
        cosines = directions @ directions.T
        if self.attention.floor is not None:
            np.maximum(cosines, self.attention.floor, out=cosines)
        weight = self.attention.quartet_weight.numpy()
        return torch.from_numpy(attend_probes(cosines, x, places, queries.numpy(), weight))


class MergedLayers:
    """An encoder of several GCN layers with A_band, written over tensors that are no longer needed.

    X' = act(X W_own + softmax(A_band) X W_value)

    >>> from kinfolk.nn import EncoderConfig
    >>> encoder, features = Encoder(EncoderConfig(in_dim=2, k=1, layers=2)), torch.eye(2)
    >>> nodes = torch.tensor([[0, 1], [1, 0]])
    >>> with torch.inference_mode():
    ...     merged = MergedLayers.of(encoder, size=2)
    ...     rows = merged.finish(*merged.mix(features, merged.project(features), nodes))
    ...     bool(torch.allclose(rows, encoder.probe_rows(features[nodes]), atol=1e-6))
    True
    """

    def __init__(self, layers: list[GCNLayer], attentions: list[MergedAttention]) -> None:
        """Keep the layers and their merged attentions, first to last."""
        self.layers, self.attentions = layers, attentions

    @classmethod
    def of(cls, encoder: Encoder, size: int) -> MergedLayers | None:
        """Return the merged form for sub-graphs of `size` rows; None for other encoders."""
        layers, attentions = [], []
        for layer in encoder.layers:
            if not isinstance(layer, GCNLayer) or not isinstance(layer.attention, BandAttention):
                return None
            merged = MergedAttention.of(layer.attention, layer.dim, size, layer.weight.dtype)
            if merged is None:
                return None
            layers.append(layer)
            attentions.append(merged)
        return cls(layers, attentions) if len(layers) > 1 else None

    def project(self, x: Tensor, number: int = 0) -> dict[str, Tensor]:
        """Return what a layer makes of each row alone: X W_value, X M and X W_own, (..., dim) -> (..., M') each."""
        layer = self.layers[number]
        parts = {"value": x @ layer.weight[-layer.dim :], "query": x @ self.attentions[number].self_weight}
        return parts | {"own": x @ layer.weight[: layer.dim]} if layer.concat else parts

    def mix(self, features: Tensor, projected: Projected, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return X and A X of the probes in the last layer, (P, M) each.

        Shapes: features (N, M), projected = project(features), nodes (P, L) int64, the probe first.
        """
        parts = {name: take(rows, nodes) for name, rows in projected.items() if name != "query"}
        x = self._all_rows(0, *_shared_pairs(features, projected["query"], nodes), parts)
        for number in range(1, len(self.layers) - 1):
            parts = self.project(x, number)
            x = self._all_rows(number, *_pairs(x, parts["query"]), parts)
        weights = self.attentions[-1].probe_row(x).softmax(dim=-1)
        return x[:, 0], (weights @ x)[:, 0]

    def finish(self, own: Tensor, mixed: Tensor) -> Tensor:
        """Return the probes' rows of the last layer, (P, M'), from X and A X: for many probes one product."""
        return self.layers[-1].finish(own, mixed)

    def _all_rows(self, number: int, products: Tensor, self_scores: Tensor, parts: Projected) -> Tensor:
        """Return X' (B, L, M') of X X^T, X M X^T and the projections of X, which are overwritten."""
        layer, weights = self.layers[number], self.attentions[number].all_rows(products, self_scores).softmax(dim=-1)
        mixed = parts["own"].baddbmm_(weights, parts["value"]) if layer.concat else weights @ parts["value"]
        mixed = layer.norm(mixed)
        if isinstance(layer.activation, nn.PReLU):  # in place, with its only weight
            return nn.functional.leaky_relu_(mixed, layer.activation.weight.item())
        return layer.activation(mixed)


def _pairs(x: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """Return X X^T and X M X^T, (..., L, L) each, of x and queries = X M, (..., L, dim)."""
    return gram(x), queries @ x.transpose(-1, -2)


def _shared_pairs(features: Tensor, queries: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """Return `_pairs` of sub-graphs, (P, L, L) each, computed once for each pair of distinct nodes where that pays.

    Shapes: features and queries (N, dim), nodes (P, L).
    """
    unique, places = distinct(nodes.numpy())
    if len(unique) ** 2 > SHARED_PAIRS * nodes.numel() * nodes.shape[1]:
        return _pairs(take(features, nodes), take(queries, nodes))
    some = torch.from_numpy(unique)
    products, self_scores = _pairs(features.index_select(0, some), queries.index_select(0, some))
    return torch.from_numpy(blocks(products.numpy(), places)), torch.from_numpy(blocks(self_scores.numpy(), places))


def _times(weight: Tensor, theta: Tensor | None) -> Tensor:
    return weight if theta is None else theta * weight
