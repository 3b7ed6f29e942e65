"""Quartet attention on the scores of self attention."""

from __future__ import annotations

from torch import Tensor

from kinfolk.nn.attention._base import Attention, Projected, common_heads
from kinfolk.nn.attention.quartet import QuartetAttention
from kinfolk.nn.attention.self_attention import SelfAttention


class TildeQuartet(Attention):
    """Quartet attention with A_self, before the softmax, in the place of A_X (the paper's tilde form).

    Ã_qart = (A_self W_Q) (A_self W_K)^T with the rows of A_self L2-normalised.

    Parameters
    ----------
    self_attention, quartet_attention : give A_self and W_Q, W_K; with the same number of heads.

    Notes
    -----
    Shapes: x (B, L, M), mask (B, L)  ->  (B, H, R, L).

    Examples
    --------
    >>> import torch
    >>> attention = TildeQuartet(SelfAttention(4, 2), QuartetAttention(size=3))
    >>> attention(torch.ones(1, 3, 4), rows=1).shape
    torch.Size([1, 1, 1, 3])
    """

    def __init__(self, self_attention: SelfAttention, quartet_attention: QuartetAttention) -> None:
        """Store the two attentions."""
        super().__init__(common_heads(self_attention, quartet_attention))
        self.self_attention = self_attention
        self.quartet_attention = quartet_attention

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return the projections of the self attention."""
        return self.self_attention.project(x)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return Ã_qart, (B, H, R, L)."""
        self_scores = self.self_attention(x, mask, projected=projected)
        return self.quartet_attention(x, mask, rows, adjacency=self_scores)
