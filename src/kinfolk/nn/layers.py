"""Layers that mix the rows of a sub-graph by an attention; B, L, H, R and the mask as in `kinfolk.nn.attention`."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from kinfolk._core.errors import InputError
from kinfolk.nn.attention import Attention, FormedBand, Init, Projected, check_choice, fill, split_heads
from kinfolk.nn.attention._cosines import gram

Activation = Literal["prelu", "relu", "none"]


def attend(weights: Tensor, x: Tensor, weight: Tensor, values: Tensor | None = None) -> Tensor:
    """Return A X W, the output columns split over the heads: head h makes A_h X W_h.

    A (X W) and (A X) W are the same; the cheaper one is taken, unless the values X W are there already.

    Shapes: weights (B, H, R, L), x (B, L, M), weight (M, M'), values (B, L, M')  ->  (B, R, M').

    >>> attend(torch.tensor([[[[0.5, 0.5]]]]), torch.tensor([[[1.0, 3.0], [3.0, 5.0]]]), torch.eye(2))
    tensor([[[2., 4.]]])
    """
    batch, heads, few, size = weights.shape
    dim, out = weight.shape
    if values is None and few * dim * (heads * size + out) < size * out * (dim + few):
        mixed = (weights.reshape(batch, -1, size) @ x).view(batch, heads, few, dim)
        if heads == 1:
            return mixed[:, 0] @ weight
        return torch.einsum("bhrd,dho->brho", mixed, weight.view(dim, heads, -1)).flatten(2)
    values = x @ weight if values is None else values
    return (weights @ split_heads(values, heads)).transpose(1, 2).flatten(2)


class GCNLayer(nn.Module):
    """A GCN layer with any attention A in the place of the graph's adjacency (equations 1 and 8 of the paper).

    X' = act(A X W), or with concat act([X, A X] W), with norm a LayerNorm before the activation.

    init="identity": W is the identity cut to its shape, and zero for the X of concat; with activation="none" and no
    norm the untrained layer is X' = A X.

    >>> from kinfolk.nn import GCNAdjacency
    >>> layer = GCNLayer(2, 2, GCNAdjacency(), activation="none", init="identity")
    >>> layer(torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), rows=1).detach()
    tensor([[[1.0000, 0.0000]]])
    """

    def __init__(
        self,
        dim: int,
        out_dim: int,
        attention: Attention,
        concat: bool = False,
        activation: Activation = "prelu",
        norm: bool = False,
        init: Init = "random",
    ) -> None:
        """Make the weight: Xavier at random or the identity."""
        super().__init__()
        check_choice("activation", activation, Activation)
        _check_split(out_dim, attention)
        self.attention, self.concat, self.dim = attention, concat, dim
        self.weight = nn.Parameter(torch.empty(dim * (1 + concat), out_dim))
        fill(self.weight, init)
        if concat and init == "identity":
            nn.init.zeros_(self.weight.data[:dim])
            fill(self.weight.data[dim:], init)
        self.norm = nn.LayerNorm(out_dim) if norm else nn.Identity()
        self.activation = {"prelu": nn.PReLU, "relu": nn.ReLU, "none": nn.Identity}[activation]()

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return what depends on each row alone: X W, for concat its two halves, and that of the attention."""
        parts = {"value": x @ self.weight[-self.dim :], **self.attention.project(x)}
        return parts | {"own": x @ self.weight[: self.dim]} if self.concat else parts

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return the first R rows of X', (B, R, M')."""
        return self.mix(self.attention.weights(x, mask, rows, projected), x, projected)

    def mix(self, weights: Tensor, x: Tensor, projected: Projected | None = None) -> Tensor:
        """Return X' from the weights A (B, H, R, L) of its first R rows, (B, R, M')."""
        known, rows = projected or {}, weights.shape[2]
        mixed = attend(weights, x, self.weight[-self.dim :], known.get("value"))
        if self.concat:
            mixed = mixed + (known["own"][:, :rows] if known else x[:, :rows] @ self.weight[: self.dim])
        return self.activation(self.norm(mixed))


class FormedLayer:
    """A `GCNLayer` with A_band where nothing is learned: in few products, and written over what is no longer needed.

    X' = act(X W_own + softmax(X M X^T + A_X N A_X^T) X W_value),   M and N see `FormedBand`

    >>> from kinfolk.nn import make_attention
    >>> layer, x = GCNLayer(4, 4, make_attention("band", dim=4, size=3), concat=True), torch.eye(4)[None, :3]
    >>> with torch.inference_mode():
    ...     formed = FormedLayer(layer, FormedBand.of(layer.attention, size=3))
    ...     bool(torch.allclose(formed.next_rows(x, formed.project(x)), layer(x), atol=1e-6))
    True
    """

    def __init__(self, layer: GCNLayer, band: FormedBand) -> None:
        """Take the layer and what is formed of its attention."""
        self.layer, self.band = layer, band
        self.weights = {"value": layer.weight[-layer.dim :], "asked": band.asking}
        if layer.concat:
            self.weights["own"] = layer.weight[: layer.dim]

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return what depends on each row alone: X W_value, X M as "asked" and X W_own, (..., M) -> (..., M') each."""
        return {name: x @ weight for name, weight in self.weights.items()}

    def pairs(self, x: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
        """Return X X^T and X M X^T, (..., L, L) each, of x and X M, (..., L, dim)."""
        return gram(x), asked @ x.transpose(-1, -2)

    def next_rows(self, x: Tensor, projected: Projected) -> Tensor:
        """Return X' (B, L, M') of x (B, L, dim) and project(x), which is overwritten."""
        return self.all_rows(*self.pairs(x, projected["asked"]), projected)

    def all_rows(self, products: Tensor, duet: Tensor, projected: Projected) -> Tensor:
        """Return X' (B, L, M') of X X^T, X M X^T and project(x) (B, L, ...), which are all overwritten."""
        weights, value = self.band.all_rows(products, duet).softmax(dim=-1), projected["value"]
        return self._act(projected["own"].baddbmm_(weights, value) if self.layer.concat else weights @ value)

    def joined(self, x: Tensor) -> Tensor:
        """Return [X, A X] of the probes, of A X alone without concat, (B, 2 dim or dim), of x (B, L, dim)."""
        weights = self.band.probe_row(x, x[:, 0] @ self.band.asking).softmax(dim=-1)
        return self.join(x[:, 0], (weights[:, None] @ x)[:, 0])

    def join(self, own: Tensor, mixed: Tensor) -> Tensor:
        """Return own and mixed (B, dim) side by side with concat, else mixed alone."""
        return torch.cat([own, mixed], dim=1) if self.layer.concat else mixed

    def finish(self, joined: Tensor) -> Tensor:
        """Return the probes' rows of X', (B, M'), of what `joined` returns: for many probes one product."""
        return self._act(joined @ self.layer.weight)

    def _act(self, mixed: Tensor) -> Tensor:
        mixed, activation = self.layer.norm(mixed), self.layer.activation
        if isinstance(activation, nn.PReLU):  # with its only weight, and in place
            return nn.functional.leaky_relu_(mixed, activation.weight.item())
        return activation(mixed)


class TransformerLayer(nn.Module):
    """A Transformer's encoder layer with any attention A, without positions: the neighbours are a set.

    Y = LayerNorm(X + [A_1 X W_1, ..., A_H X W_H] W_O),   X' = LayerNorm(Y + W_2 gelu(W_1 Y))

    init="identity": W_V and W_O are identities and the second half of the MLP is zero, so that the untrained layer is
    X' = LayerNorm(X + A X).

    >>> from kinfolk.nn import CosineAttention
    >>> TransformerLayer(4, CosineAttention(heads=2), hidden=8)(torch.ones(1, 3, 4), rows=1).shape
    torch.Size([1, 1, 4])
    """

    def __init__(self, dim: int, attention: Attention, hidden: int = 2048, init: Init = "random") -> None:
        """Make the weights: Xavier at random or the identity."""
        super().__init__()
        _check_split(dim, attention)
        self.attention = attention
        self.value = nn.Parameter(torch.empty(dim, dim))
        self.output = nn.Parameter(torch.empty(dim, dim))
        self.first = nn.Linear(dim, hidden)
        self.second = nn.Linear(hidden, dim)
        self.norm_mixed = nn.LayerNorm(dim)
        self.norm_out = nn.LayerNorm(dim)
        fill(self.value, init)
        fill(self.output, init)
        if init == "identity":
            nn.init.zeros_(self.second.weight)
            nn.init.zeros_(self.second.bias)

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return what depends on each row alone: X W_V and that of the attention."""
        return {"value": x @ self.value, **self.attention.project(x)}

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return the first R rows of X', (B, R, M)."""
        return self.mix(self.attention.weights(x, mask, rows, projected), x, projected)

    def mix(self, weights: Tensor, x: Tensor, projected: Projected | None = None) -> Tensor:
        """Return X' from the weights A (B, H, R, L) of its first R rows, (B, R, M)."""
        mixed = attend(weights, x, self.value, (projected or {}).get("value")) @ self.output
        y = self.norm_mixed(x[:, : weights.shape[2]] + mixed)
        return self.norm_out(y + self.second(nn.functional.gelu(self.first(y))))


def _check_split(dim: int, attention: Attention) -> None:
    if dim % attention.heads:
        raise InputError(f"{dim} columns cannot be split over {attention.heads} heads")
