"""The encoder: from a sub-graph to the enhanced vector of its probe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

from kinfolk._core.checks import check_choice, check_whole
from kinfolk._core.errors import InputError
from kinfolk.nn.attention import (
    Attention,
    BandAttention,
    Fusion,
    Init,
    Name,
    Normalize,
    Projected,
    fill,
    make_attention,
)
from kinfolk.nn.layers import GCNLayer, TransformerLayer

Base = Literal["gcn", "transformer"]
MOST_LAYERS = 3


@dataclass(frozen=True)
class EncoderConfig:
    """Settings of an `Encoder`.

    Parameters
    ----------
    in_dim : columns of the features.
    k : neighbours of a probe; sub-graphs have k + 1 rows.
    attention : see `make_attention`.
    base : "gcn" or "transformer".
    layers : 1 to 3.
    out_dim : columns of a last Linear + PReLU; None: there is none, the result has in_dim columns.
    width, heads : of the self attention's queries and keys, all heads together; number of heads.
    fusion : of a band: "theta", "add" or "mul", see `BandAttention`.
    quartet_weights : False: the quartet has no W_Q and W_K.
    normalize : "adjacency" or "qk", see `QuartetAttention`.
    concat, norm : of the GCN layers: [X, A X] W instead of A X W; a LayerNorm.
    init : "random", or "identity": untrained, the encoder is the training-free form (no activation).
    floor : the smallest value of a cosine in the quartet; None: no limit.
    scale : sharpness of the training-free attention.
    hidden : width of the Transformer's MLP.

    Examples
    --------
    >>> EncoderConfig(in_dim=64, k=10, layers=4)
    Traceback (most recent call last):
    kinfolk.InputError: layers must be from 1 to 3, not 4
    """

    in_dim: int
    k: int
    attention: Name = "band"
    base: Base = "gcn"
    layers: int = 1
    out_dim: int | None = None
    width: int = 256
    heads: int = 1
    fusion: Fusion = "theta"
    quartet_weights: bool = True
    normalize: Normalize = "adjacency"
    concat: bool = False
    norm: bool = False
    init: Init = "random"
    floor: float | None = None
    scale: float = 15.0
    hidden: int = 2048

    def __post_init__(self) -> None:
        """Refuse settings that cannot be built."""
        for what, choices in _CHOICES.items():
            check_choice(what, getattr(self, what), get_args(choices))
        for what in ("in_dim", "k", "width", "heads", "hidden"):
            check_whole(what, getattr(self, what))
        if not 1 <= self.layers <= MOST_LAYERS:
            raise InputError(f"layers must be from 1 to {MOST_LAYERS}, not {self.layers}")
        if self.out_dim is not None:
            check_whole("out_dim", self.out_dim)
        if self.in_dim % self.heads or self.width % self.heads:
            raise InputError(f"{self.heads} heads must divide in_dim={self.in_dim} and width={self.width}")
        if not 0 < self.scale < float("inf"):
            raise InputError(f"scale must be a number above 0, not {self.scale}")
        if self.base == "transformer" and (self.concat or self.norm):
            raise InputError("concat and norm are choices of the GCN layers, a Transformer has neither")


_CHOICES = dict(attention=Name, base=Base, fusion=Fusion, normalize=Normalize, init=Init)


class Encoder(nn.Module):
    """Layers and a last Linear + PReLU; the last layer computes the probe's row only.

    z = normalize(row 0 of the last layer);   with out_dim:  z = normalize(prelu(z W + b))

    Parameters
    ----------
    config : the settings; random weights follow torch.manual_seed.

    Notes
    -----
    Shapes: x (B, L, in_dim), mask (B, L)  ->  (B, out_dim or in_dim).

    Examples
    --------
    >>> encoder = Encoder(EncoderConfig(in_dim=2, k=2, attention="quartet", init="identity"))
    >>> x = torch.tensor([[[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0]]])
    >>> encoder(x).detach().round(decimals=2)
    tensor([[0.9600, 0.2600]])
    """

    def __init__(self, config: EncoderConfig) -> None:
        """Build the layers with new weights."""
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.layers))
        self.last: nn.Linear | None = None
        self.activation: nn.PReLU | None = None
        if config.out_dim is not None:
            free = config.init == "identity"
            self.last = nn.Linear(config.in_dim, config.out_dim)
            self.activation = nn.PReLU(init=1.0 if free else 0.25)
            fill(self.last.weight, config.init)
            nn.init.zeros_(self.last.bias)

    def forward(self, x: Tensor, mask: Tensor | None = None, projected: Projected | None = None) -> Tensor:
        """Return the probes' L2-normalised vectors.

        Shapes: x (B, L, in_dim), mask (B, L) True where a row is real  ->  (B, out_dim or in_dim). L may differ from
        k + 1. `projected` is for `encode`.
        """
        return self.head(self.probe_rows(x, mask, projected))

    def probe_rows(self, x: Tensor, mask: Tensor | None = None, projected: Projected | None = None) -> Tensor:
        """Return the probes' rows of the last layer, (B, in_dim): `forward` without the head."""
        x, mask = self._checked(x, mask)
        first = projected if len(self.layers) == 1 else None
        return self.layers[-1](self._before_last(x, mask, projected), mask, rows=1, projected=first)[:, 0]

    def attention_maps(self, x: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
        """Return the attention weights of the last layer by the name of the attention, (B, H, L, L); rows sum to one.

        With a band there are three: "self", "quartet" and "band" (see `BandAttention.maps`).

        >>> encoder = Encoder(EncoderConfig(in_dim=2, k=1))
        >>> {name: tuple(weights.shape) for name, weights in encoder.attention_maps(torch.ones(3, 2, 2)).items()}
        {'self': (3, 1, 2, 2), 'quartet': (3, 1, 2, 2), 'band': (3, 1, 2, 2)}
        """
        x, mask = self._checked(x, mask)
        attention, x = self.layers[-1].attention, self._before_last(x, mask)
        if isinstance(attention, BandAttention):
            return attention.maps(x, mask)
        assert isinstance(attention, Attention)
        return {self.config.attention: attention.weights(x, mask)}

    def _before_last(self, x: Tensor, mask: Tensor | None, projected: Projected | None = None) -> Tensor:
        """Return the input of the last layer, (B, L, in_dim)."""
        for number, layer in enumerate(self.layers[:-1]):
            x = layer(x, mask, projected=projected if number == 0 else None)
        return x

    def _checked(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the sub-graphs with 0 in padding rows, and the mask, None where all rows are real."""
        if x.dim() != 3 or x.shape[-1] != self.config.in_dim or not x.shape[1]:
            raise InputError(f"sub-graphs of the shape (B, L, {self.config.in_dim}) are expected, not {tuple(x.shape)}")
        if mask is None:
            return x, None
        if mask.shape != x.shape[:2] or mask.dtype != torch.bool:
            raise InputError(f"the mask must be bool {tuple(x.shape[:2])}, not {mask.dtype} {tuple(mask.shape)}")
        if mask.all():
            return x, None
        return x.masked_fill(~mask[:, :, None], 0.0), mask  # padding may hold NaN, and 0 times NaN is NaN

    def head(self, row: Tensor) -> Tensor:
        """Return the probes' vectors from their rows of the last layer, (B, in_dim) -> (B, out_dim or in_dim)."""
        z = normalize(row, dim=-1)
        if self.last is None or self.activation is None:
            return z
        return normalize(self.activation(self.last(z)), dim=-1)

    def precompute(self, features: Tensor) -> dict[str, Tensor]:
        """Return the first layer's projections of each node, (N, in_dim) -> (N, ...) each, for `encode`.

        A node is in about k + 1 sub-graphs and its projections are the same in all of them. Empty with a single layer:
        the probe's row needs the features only.

        >>> encoder = Encoder(EncoderConfig(in_dim=2, k=2, attention="self", layers=2, width=4))
        >>> {name: tuple(known.shape) for name, known in encoder.precompute(torch.ones(9, 2)).items()}
        {'value': (9, 2), 'merged_query': (9, 2)}
        """
        first = self.layers[0]
        assert isinstance(first, GCNLayer | TransformerLayer)
        return first.project(features) if len(self.layers) > 1 else {}

    def encode(
        self, features: Tensor, nodes: Tensor, mask: Tensor | None = None, cache: Projected | None = None
    ) -> Tensor:
        """Return the vectors of the probes nodes[:, 0], the same as forward(features[nodes], mask).

        Shapes: features (N, in_dim), nodes (B, L) int64, the probe first; `cache` from `precompute(features)`.

        >>> encoder = Encoder(EncoderConfig(in_dim=2, k=1, attention="quartet"))
        >>> features, nodes = torch.eye(2), torch.tensor([[0, 1], [1, 0]])
        >>> bool((encoder.encode(features, nodes) == encoder(features[nodes])).all())
        True
        """
        return self.head(self.encode_rows(features, nodes, mask, cache))

    def encode_rows(
        self, features: Tensor, nodes: Tensor, mask: Tensor | None = None, cache: Projected | None = None
    ) -> Tensor:
        """Return the probes' rows of the last layer, (B, in_dim): `encode` without the head."""
        projected = {name: take(rows, nodes) for name, rows in (cache or {}).items()}
        return self.probe_rows(take(features, nodes), mask, projected or None)


def take(rows: Tensor, nodes: Tensor) -> Tensor:
    """Return rows[nodes], (N, M) and (B, L) -> (B, L, M), some five times faster than by that indexing.

    >>> take(torch.eye(2), torch.tensor([[1, 0, 1]])).shape
    torch.Size([1, 3, 2])
    """
    return rows.index_select(0, nodes.flatten()).view(*nodes.shape, -1)


def _layer(config: EncoderConfig) -> GCNLayer | TransformerLayer:
    attention = make_attention(
        config.attention,
        config.in_dim,
        config.k + 1,
        width=config.width,
        heads=config.heads,
        fusion=config.fusion,
        quartet_weights=config.quartet_weights,
        normalize=config.normalize,
        init=config.init,
        floor=config.floor,
        scale=config.scale,
    )
    if config.base == "transformer":
        return TransformerLayer(config.in_dim, attention, config.hidden, config.init)
    return GCNLayer(
        config.in_dim,
        config.in_dim,
        attention,
        config.concat,
        "none" if config.init == "identity" else "prelu",
        config.norm,
        config.init,
    )


def seeded_encoder(config: EncoderConfig, seed: int) -> Encoder:
    """Return a new encoder whose random weights follow the seed.

    >>> one, other = (seeded_encoder(EncoderConfig(in_dim=2, k=1), seed=3) for _ in range(2))
    >>> all(bool((a == b).all()) for a, b in zip(one.parameters(), other.parameters()))
    True
    """
    torch.manual_seed(seed)
    return Encoder(config)


def encoder_from(config: dict[str, Any], weights: dict[str, NDArray[Any]]) -> Encoder:
    """Return the encoder of a model folder.

    >>> old = Encoder(EncoderConfig(in_dim=2, k=1))
    >>> weights = {name: tensor.numpy() for name, tensor in old.state_dict().items()}
    >>> encoder_from({"in_dim": 2, "k": 1}, weights).config.k
    1
    """
    facts = EncoderConfig(**config)
    return load_weights(lambda: Encoder(facts), weights)


N = TypeVar("N", bound=nn.Module)


def load_weights(build: Callable[[], N], weights: Mapping[str, NDArray[Any]]) -> N:
    """Return the network with these weights; shapes are compared before anything of their size is allocated.

    >>> load_weights(lambda: nn.Linear(10**9, 10**9), {"weight": np.ones((2, 2)), "bias": np.ones(2)})
    Traceback (most recent call last):
    kinfolk.InputError: the weights do not fit: weight has the shape (2, 2), (1000000000, 1000000000) is expected
    """
    with torch.device("meta"):  # shapes without values
        expected = {name: tuple(tensor.shape) for name, tensor in build().state_dict().items()}
    for name in sorted(expected.keys() ^ weights.keys()):
        raise InputError(f"the weights do not fit: {name} is {'missing' if name in expected else 'not known'}")
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise InputError(f"the weights do not fit: {name} has the shape {weights[name].shape}, {shape} is expected")
    network = build()
    network.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(w)) for name, w in weights.items()})
    return network
