"""Attention by a Gaussian kernel of the distance."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from kinfolk.nn.attention._base import Attention, Projected, per_head


class KernelAttention(Attention):
    """softmax(-||x_i - x_j||^2 / (2 sigma^2)) with a learnable width sigma > 0 for each head.

    Parameters
    ----------
    heads : number of heads.
    sigma : initial width.

    Notes
    -----
    Shapes: x (B, L, M)  ->  (B, H, R, L).

    Examples
    --------
    >>> KernelAttention(sigma=0.5)(torch.eye(2)[None]).detach().round().abs()
    tensor([[[[0., 4.],
              [4., 0.]]]])
    """

    def __init__(self, heads: int = 1, sigma: float = 15.0**-0.5) -> None:
        """Start with the width `sigma`."""
        super().__init__(heads)
        self.log_sigma = nn.Parameter(torch.full((heads,), math.log(sigma)))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return -||x_i - x_j||^2 / (2 sigma^2), (B, H, R, L)."""
        squares = x.square().sum(dim=-1)
        distance = squares[:, :rows, None] + squares[:, None, :] - 2 * x[:, :rows] @ x.transpose(-1, -2)
        return per_head((-2 * self.log_sigma).exp() / -2) * distance[:, None]
