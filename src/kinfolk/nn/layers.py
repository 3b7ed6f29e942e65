"""Layers that mix the rows of a sub-graph with an attention; B, L, H, R and the mask as in `kinfolk.nn.attention`."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError
from kinfolk.nn.attention import Attention, Init, Projected, fill, split_heads

Activation = Literal["prelu", "relu", "none"]


def attend(weights: Tensor, x: Tensor, weight: Tensor, values: Tensor | None = None) -> Tensor:
    """Return A X W with the output columns split over the heads: head h gives A_h X W_h.

    A (X W) and (A X) W are equal; the cheaper one is computed, unless the values X W are given.

    Parameters
    ----------
    weights : A, (B, H, R, L).
    x : X, (B, L, M).
    weight : W, (M, M').
    values : X W, (B, L, M'), where it is known.

    Returns
    -------
    mixed : (B, R, M').

    Examples
    --------
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

    Parameters
    ----------
    dim, out_dim : M and M'.
    attention : A.
    concat : use [X, A X] W instead of A X W.
    activation : "prelu", "relu" or "none".
    norm : a LayerNorm before the activation.
    init : "random" (Xavier), or "identity": W is the identity cut to its shape, and zero for the X of concat; with
        activation="none" and no norm the untrained layer is X' = A X.

    Notes
    -----
    Shapes: x (B, L, M), mask (B, L)  ->  (B, R, M').

    Examples
    --------
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
        """Initialise the weight."""
        super().__init__()
        check_choice("activation", activation, get_args(Activation))
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
        """Return the projections of each row: X W, with concat its two halves, and those of the attention."""
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

    def finish(self, own: Tensor, mixed: Tensor) -> Tensor:
        """Return the probes' rows of X', (B, M'), from their rows of X and A X, (B, M) each; one head."""
        joined = torch.cat([own, mixed], dim=1) if self.concat else mixed
        return self.activation(self.norm(joined @ self.weight))


class TransformerLayer(nn.Module):
    """The encoder layer of a Transformer with any attention A, without positional encoding.

    Y = LayerNorm(X + [A_1 X W_1, ..., A_H X W_H] W_O),   X' = LayerNorm(Y + W_2 gelu(W_1 Y))

    Parameters
    ----------
    dim : M, columns of X and X'.
    attention : A, with one or more heads.
    hidden : width of the MLP.
    init : "random" (Xavier), or "identity": W_V and W_O are identities and the second layer of the MLP is zero, so
        that the untrained layer is X' = LayerNorm(X + A X).

    Notes
    -----
    Shapes: x (B, L, M), mask (B, L)  ->  (B, R, M).

    Examples
    --------
    >>> from kinfolk.nn import CosineAttention
    >>> TransformerLayer(4, CosineAttention(heads=2), hidden=8)(torch.ones(1, 3, 4), rows=1).shape
    torch.Size([1, 1, 4])
    """

    def __init__(self, dim: int, attention: Attention, hidden: int = 2048, init: Init = "random") -> None:
        """Initialise the weights."""
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
        """Return the projections of each row: X W_V and those of the attention."""
        return {"value": x @ self.value, **self.attention.project(x)}

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return the first R rows of X', (B, R, M)."""
        return self.mix(self.attention.weights(x, mask, rows, projected), x, projected)

    def mix(self, weights: Tensor, x: Tensor, projected: Projected | None = None) -> Tensor:
        """Return X' from the weights A (B, H, R, L) of its first R rows, (B, R, M)."""
        return self._after(x[:, : weights.shape[2]], attend(weights, x, self.value, (projected or {}).get("value")))

    def finish(self, own: Tensor, mixed: Tensor) -> Tensor:
        """Return the probes' rows of X', (B, M), from their rows of X and A X, (B, M) each; one head."""
        return self._after(own, mixed @ self.value)

    def _after(self, x: Tensor, attended: Tensor) -> Tensor:
        """Return X' from X and [A_1 X W_1, ..., A_H X W_H], (..., M) each."""
        y = self.norm_mixed(x + attended @ self.output)
        return self.norm_out(y + self.second(nn.functional.gelu(self.first(y))))


def _check_split(dim: int, attention: Attention) -> None:
    if dim % attention.heads:
        raise InputError(f"{dim} columns cannot be split over {attention.heads} heads")
