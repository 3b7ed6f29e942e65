"""Self attention: each pair of rows for itself, the duet."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from kinfolk._core.errors import InputError
from kinfolk.nn.attention._base import (
    Attention,
    Init,
    Projected,
    against,
    fill,
    optional_theta,
    split_heads,
    through,
    times_theta,
)


class SelfAttention(Attention):
    """The attention of Transformers, the duet (equation 6 of the paper).

    A_self = (X W_Q) (X W_K)^T / sqrt(width of a head),  W_Q, W_K (dim, width), their columns split over the heads.

    `theta`: a learnable factor of the scores, with this first value; None: none, the paper's form.

    >>> attention = SelfAttention(dim=2, width=2, init="identity")
    >>> attention(torch.eye(2)[None], rows=1).detach() * 2**0.5
    tensor([[[[1.0000, 0.0000]]]])
    """

    def __init__(self, dim: int, width: int, heads: int = 1, init: Init = "random", theta: float | None = None) -> None:
        """Make the weights: Xavier at random, or the identity cut to (dim, width)."""
        super().__init__(heads)
        if width < 1 or width % heads:
            raise InputError(f"the width {width} of the attention cannot be split over {heads} heads")
        self.query = nn.Parameter(torch.empty(dim, width))
        self.key = nn.Parameter(torch.empty(dim, width))
        self.theta = optional_theta(theta, heads)
        fill(self.query, init)
        fill(self.key, init)

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return X W_Q W_K^T of each head side by side where that is narrower than X W_Q and X W_K, else these two."""
        if self.heads * x.shape[-1] <= self.query.shape[1]:
            asked = self._ask(x.reshape(1, -1, x.shape[-1]))[0].transpose(0, 1)
            return {"asked": asked.reshape(*x.shape[:-1], -1)}
        return {"query": x @ self.query, "key": x @ self.key}

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return A_self, (B, H, R, L)."""
        known = projected or {}
        few = x[:, :rows]
        if "asked" in known:
            scores = against(split_heads(known["asked"][:, :rows], self.heads), x[:, None])
        elif "query" in known:
            scores = self._of_keys(known["query"][:, :rows], known["key"])
        elif self._pays_without_keys(few, x):
            scores = against(self._ask(few), x[:, None])
        else:
            scores = self._of_keys(few @ self.query, x @ self.key)
        return times_theta(scores / math.sqrt(self.query.shape[1] // self.heads), self.theta)

    def _of_keys(self, query: Tensor, key: Tensor) -> Tensor:
        return split_heads(query, self.heads) @ split_heads(key, self.heads).transpose(-1, -2)

    def _ask(self, x: Tensor) -> Tensor:
        """Return X W_Q W_K^T, (B, R, dim) -> (B, H, R, dim), with W_Q W_K^T formed where that is cheaper."""
        query = self.query.view(len(self.query), self.heads, -1).transpose(0, 1)
        back = self.key.view(len(self.key), self.heads, -1).permute(1, 2, 0)
        if self._pays_to_merge(x):
            return through(x[:, None], query @ back)
        return through(split_heads(x @ self.query, self.heads), back)

    def _pays_to_merge(self, x: Tensor) -> bool:
        dim, width = self.query.shape
        rows = x.shape[0] * x.shape[1]
        return dim * width + rows * self.heads * dim < rows * 2 * width

    def _pays_without_keys(self, few: Tensor, x: Tensor) -> bool:
        """Tell whether (X_R W_Q W_K^T) X^T, the keys X W_K never made, costs less than (X_R W_Q) (X W_K)^T."""
        dim, width = self.query.shape
        batch, size = x.shape[:2]
        rows, all_rows = batch * few.shape[1], batch * size
        ask = min(dim * dim * width + rows * self.heads * dim * dim, 2 * rows * dim * width)
        return ask + rows * self.heads * size * dim < (rows + all_rows) * dim * width + rows * size * width
