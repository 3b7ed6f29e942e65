"""Base class of the attentions, their options, softmax with padding, products with heads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from kinfolk._core.checks import check_choice, check_whole
from kinfolk._core.errors import InputError

Fusion = Literal["theta", "add", "mul"]
Init = Literal["random", "identity"]
Normalize = Literal["adjacency", "qk"]
Projected = Mapping[str, Tensor]


def fill(weight: Tensor, init: Init) -> None:
    """Fill the matrix, or each of a stack of them, with the identity (cut to its shape) or at random (Xavier).

    >>> weight = torch.empty(2, 3)
    >>> fill(weight, "identity")
    >>> weight.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    check_choice("init", init, get_args(Init))
    with torch.no_grad():
        for matrix in weight.view(-1, *weight.shape[-2:]):
            if init == "identity":
                nn.init.eye_(matrix)
            else:
                nn.init.xavier_uniform_(matrix)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Return the softmax over the last axis, exactly 0 in the columns of padding rows.

    Parameters
    ----------
    scores : (B, H, R, L).
    mask : (B, L), True where a row is real, False where it is padding; None: all are real.

    Returns
    -------
    weights : (B, H, R, L).

    Examples
    --------
    >>> masked_softmax(torch.zeros(1, 1, 1, 3), torch.tensor([[True, True, False]]))
    tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None, None, :], -math.inf)
    return scores.softmax(dim=-1)


class Attention(nn.Module):
    """Base class of the attentions: a call gives the scores, `weights` their softmax.

    Parameters
    ----------
    heads : number of attentions side by side.

    Notes
    -----
    Shapes: x (B, L, M), mask (B, L)  ->  (B, H, R, L).

    Examples
    --------
    >>> from kinfolk.nn import CosineAttention
    >>> attention = CosineAttention()
    >>> x = torch.eye(3)[None]
    >>> attention(x, rows=1).shape, attention.weights(x).sum(dim=-1).round(decimals=4).tolist()
    (torch.Size([1, 1, 1, 3]), [[[1.0, 1.0, 1.0]]])
    """

    def __init__(self, heads: int = 1) -> None:
        """Store the number of heads."""
        super().__init__()
        check_whole("heads", heads)
        self.heads = heads

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return the projections that depend on each row alone, not on its sub-graph: (..., M) -> (..., width) each."""
        return {}

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return the scores before the softmax, (B, H, R, L); `projected`: project(x) where it is known."""
        raise NotImplementedError

    def weights(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return softmax(scores), (B, H, R, L), 0 in the columns of padding rows."""
        return masked_softmax(self(x, mask, rows, projected), mask)


def common_heads(first: Attention, second: Attention) -> int:
    """Return the number of heads of both, which must be the same.

    >>> common_heads(Attention(heads=2), Attention(heads=2))
    2
    """
    if first.heads != second.heads:
        raise InputError(f"both attentions need the same number of heads, not {first.heads} and {second.heads}")
    return first.heads


def optional_theta(value: float | None, heads: int) -> nn.Parameter | None:
    """Return a learnable factor for each head with this initial value; None without one.

    >>> optional_theta(2.0, heads=2).tolist()
    [2.0, 2.0]
    """
    return None if value is None else nn.Parameter(torch.full((heads,), float(value)))


def per_head(theta: Tensor) -> Tensor:
    """Return theta (H,) in the shape (H, 1, 1), to be multiplied with scores (B, H, R, L).

    >>> per_head(torch.ones(2)).shape
    torch.Size([2, 1, 1])
    """
    return theta[:, None, None]


def times_theta(scores: Tensor, theta: Tensor | None) -> Tensor:
    """Return theta (H,) times the scores (B, H, R, L); the scores themselves where there is no theta.

    >>> times_theta(torch.ones(1, 2, 1, 1), torch.tensor([2.0, 3.0])).flatten()
    tensor([2., 3.])
    """
    return scores if theta is None else per_head(theta) * scores


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Return the columns split over the heads: (B, L, H c) -> (B, H, L, c).

    >>> split_heads(torch.arange(4).view(1, 1, 4), heads=2).tolist()
    [[[[0, 1]], [[2, 3]]]]
    """
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def through(matrix: Tensor, weight: Tensor) -> Tensor:
    """Return matrix (B, G, R, L) times weight (H, L, M), (B, H, R, M), for G = 1 or G = H.

    >>> through(torch.ones(3, 1, 2, 4), torch.ones(5, 4, 6)).shape
    torch.Size([3, 5, 2, 6])
    """
    batch, groups, few, size = matrix.shape
    # one product per head for the whole batch: broadcasting would copy the weight for each sub-graph
    product = matrix.transpose(0, 1).reshape(groups, batch * few, size) @ weight
    return product.view(len(weight), batch, few, -1).transpose(0, 1)


def against(left: Tensor, matrix: Tensor) -> Tensor:
    """Return left (B, H, R, M) times the transpose of matrix (B, G, L, M), (B, H, R, L), for G = 1 or G = H.

    >>> against(torch.ones(3, 5, 2, 6), torch.ones(3, 1, 4, 6)).shape
    torch.Size([3, 5, 2, 4])
    """
    batch, groups, size, dim = matrix.shape
    product = left.reshape(batch, groups, -1, dim) @ matrix.transpose(-1, -2)
    return product.view(*left.shape[:3], size)
