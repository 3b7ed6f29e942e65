"""Attention by the cosine alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from kinfolk.nn.attention._base import Attention, Projected, per_head


class CosineAttention(Attention):
    """softmax(s cos(x_i, x_j)) with a learnable scale s > 0 for each head.

    Parameters
    ----------
    heads : number of heads.
    scale : initial value of s.

    Notes
    -----
    Shapes: x (B, L, M)  ->  (B, H, R, L).

    Examples
    --------
    >>> CosineAttention(scale=10.0)(torch.eye(2)[None]).detach().round()
    tensor([[[[10.,  0.],
              [ 0., 10.]]]])
    """

    def __init__(self, heads: int = 1, scale: float = 15.0) -> None:
        """Start with the scale `scale`."""
        super().__init__(heads)
        self.log_scale = nn.Parameter(torch.full((heads,), math.log(scale)))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return s cos(x_i, x_j), (B, H, R, L)."""
        unit = normalize(x, dim=-1)
        return per_head(self.log_scale.exp()) * (unit[:, :rows] @ unit.transpose(-1, -2))[:, None]
