"""The band of attention where nothing is learned: what is made of weights alone is formed once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from kinfolk.nn.attention._base import Attention
from kinfolk.nn.attention._cosines import adjacency_of, gram
from kinfolk.nn.attention.band import BandAttention


@dataclass(frozen=True)
class FormedBand:
    """A_band of one head for sub-graphs of L rows without padding, its products of weights formed once for all of them.

    A_band = X M X^T + A_X N A_X^T,   M = theta_s W_Q W_K^T / sqrt(width)  (dim, dim),   N = theta_q W_Q W_K^T  (L, L)

    with the W_Q and W_K of the self attention in M, those of the quartet in N. The result cannot be learned through.

    >>> import torch
    >>> from kinfolk.nn import make_attention
    >>> attention, x = make_attention("band", dim=2, size=3), torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]])
    >>> with torch.inference_mode():
    ...     band = FormedBand.of(attention, size=3)
    ...     bool(torch.allclose(band.all_rows(x @ x.mT, x @ band.asking @ x.mT), attention(x)[:, 0], atol=1e-6))
    True
    """

    asking: Tensor
    middle: Tensor
    floor: float | None

    @classmethod
    def of(cls, attention: Attention, size: int) -> FormedBand | None:
        """Return that of the attention for sub-graphs of `size` rows, None where A_band does not have this form."""
        if not isinstance(attention, BandAttention) or attention.heads > 1 or attention.tilde:
            return None
        duet, quartet = attention.self_attention, attention.quartet_attention
        if attention.fusion == "mul" or (quartet.normalize == "qk" and quartet.ranked):
            return None
        asking = duet.query @ duet.key.T / math.sqrt(duet.query.shape[1])
        middle = quartet.middle(size)[0].to(asking)
        for theta in (attention.theta_self, duet.theta):
            asking = asking if theta is None else theta * asking
        for theta in (attention.theta_quartet, quartet.theta):
            middle = middle if theta is None else theta * middle
        return cls(asking, middle, quartet.floor)

    def all_rows(self, products: Tensor, duet: Tensor) -> Tensor:
        """Return A_band before the softmax, (B, L, L), of X X^T and X M X^T, which are overwritten."""
        tests = adjacency_of(products, self.floor)
        return duet.baddbmm_(tests @ self.middle, tests.transpose(1, 2))

    def probe_row(self, x: Tensor, asked: Tensor) -> Tensor:
        """Return the probes' rows of the same, (B, L), of x (B, L, dim) and asked (B, dim)."""
        tests = adjacency_of(gram(x), self.floor)
        through = tests[:, :1] @ self.middle
        return (asked[:, None] @ x.transpose(1, 2)).baddbmm_(through, tests.transpose(1, 2))[:, 0]
