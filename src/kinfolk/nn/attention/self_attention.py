"""Self attention: a score for each pair of rows by itself."""

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
    """The self attention of Transformers (equation 6 of the paper).

    A_self = (X W_Q) (X W_K)^T / sqrt(width of a head),  W_Q, W_K (dim, width), their columns split over the heads.

    Parameters
    ----------
    dim : columns of X.
    width : columns of W_Q and W_K, all heads together.
    heads : number of heads, a divisor of `width`.
    init : "random" (Xavier), or "identity": W_Q and W_K are the identity cut to (dim, width).
    theta : initial value of a learnable factor of the scores; None: no factor, the paper's form.

    Notes
    -----
    Shapes: x (B, L, dim)  ->  (B, H, R, L).

    Examples
    --------
    >>> attention = SelfAttention(dim=2, width=2, init="identity")
    >>> attention(torch.eye(2)[None], rows=1).detach() * 2**0.5
    tensor([[[[1.0000, 0.0000]]]])
    """

    def __init__(self, dim: int, width: int, heads: int = 1, init: Init = "random", theta: float | None = None) -> None:
        """Initialise the weights."""
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
            merged = self._merged_query(x.reshape(1, -1, x.shape[-1]))[0].transpose(0, 1)
            return {"merged_query": merged.reshape(*x.shape[:-1], -1)}
        return {"query": x @ self.query, "key": x @ self.key}

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return A_self, (B, H, R, L)."""
        known = projected or {}
        few = x[:, :rows]
        if "merged_query" in known:
            scores = against(split_heads(known["merged_query"][:, :rows], self.heads), x[:, None])
        elif "query" in known:
            scores = self._products(known["query"][:, :rows], known["key"])
        elif self._cheaper_without_keys(few, x):
            scores = against(self._merged_query(few), x[:, None])
        else:
            scores = self._products(few @ self.query, x @ self.key)
        return times_theta(scores / math.sqrt(self.query.shape[1] // self.heads), self.theta)

    def _products(self, query: Tensor, key: Tensor) -> Tensor:
        return split_heads(query, self.heads) @ split_heads(key, self.heads).transpose(-1, -2)

    def _merged_query(self, x: Tensor) -> Tensor:
        """Return X W_Q W_K^T, (B, R, dim) -> (B, H, R, dim), with W_Q W_K^T multiplied out where that is cheaper."""
        query = self.query.view(len(self.query), self.heads, -1).transpose(0, 1)
        key = self.key.view(len(self.key), self.heads, -1).permute(1, 2, 0)
        if self._cheaper_to_merge(x):
            return through(x[:, None], query @ key)
        return through(split_heads(x @ self.query, self.heads), key)

    def _cheaper_to_merge(self, x: Tensor) -> bool:
        dim, width = self.query.shape
        rows = x.shape[0] * x.shape[1]
        return dim * width + rows * self.heads * dim < rows * 2 * width

    def _cheaper_without_keys(self, few: Tensor, x: Tensor) -> bool:
        """Return whether (X_R W_Q W_K^T) X^T, without the keys X W_K, costs less than (X_R W_Q) (X W_K)^T."""
        dim, width = self.query.shape
        batch, size = x.shape[:2]
        rows, all_rows = batch * few.shape[1], batch * size
        merged_query = min(dim * dim * width + rows * self.heads * dim * dim, 2 * rows * dim * width)
        return merged_query + rows * self.heads * size * dim < (rows + all_rows) * dim * width + rows * size * width
