"""Band attention: self attention and quartet attention together."""

from __future__ import annotations

from typing import get_args

from torch import Tensor

from kinfolk._core.checks import check_choice
from kinfolk.nn.attention._base import (
    Attention,
    Fusion,
    Projected,
    common_heads,
    masked_softmax,
    optional_theta,
    times_theta,
)
from kinfolk.nn.attention.quartet import QuartetAttention
from kinfolk.nn.attention.self_attention import SelfAttention


class BandAttention(Attention):
    """Self attention and quartet attention together (equation 7 of the paper).

    fusion="theta"  A_band = theta_q A_qart + theta_s A_self, both thetas learned
    fusion="add"    A_band = A_qart + A_self
    fusion="mul"    A_band = A_qart * A_self, element by element

    Parameters
    ----------
    self_attention, quartet_attention : the two terms, with the same number of heads.
    fusion : "theta", "add" or "mul".
    tilde : use Ã_qart (see `TildeQuartet`) instead of A_qart.
    theta_self, theta_quartet : initial values for every head, with fusion="theta" only.

    Notes
    -----
    Shapes: x (B, L, M), mask (B, L)  ->  (B, H, R, L).

    Examples
    --------
    >>> import torch
    >>> attention = BandAttention(SelfAttention(4, 2), QuartetAttention(size=3), theta_self=0.0, theta_quartet=2.0)
    >>> x = torch.eye(4)[None, :3]
    >>> bool((attention(x) == 2 * attention.quartet_attention(x)).all())
    True
    """

    def __init__(
        self,
        self_attention: SelfAttention,
        quartet_attention: QuartetAttention,
        fusion: Fusion = "theta",
        tilde: bool = False,
        theta_self: float = 1.0,
        theta_quartet: float = 1.0,
    ) -> None:
        """Store the two attentions and initialise the thetas."""
        super().__init__(common_heads(self_attention, quartet_attention))
        check_choice("fusion", fusion, get_args(Fusion))
        self.fusion, self.tilde = fusion, tilde
        self.self_attention = self_attention
        self.quartet_attention = quartet_attention
        weighted = fusion == "theta"
        self.theta_self = optional_theta(theta_self if weighted else None, self.heads)
        self.theta_quartet = optional_theta(theta_quartet if weighted else None, self.heads)

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return the projections of the self attention."""
        return self.self_attention.project(x)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return A_band before the softmax, (B, H, R, L)."""
        return self.fuse(*self.terms(x, mask, rows, projected))

    def terms(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return A_qart and A_self, (B, H, R, L) each."""
        self_scores = self.self_attention(x, mask, None if self.tilde else rows, projected)
        quartet = self.quartet_attention(x, mask, rows, adjacency=self_scores if self.tilde else None)
        return quartet, self_scores[:, :, :rows]

    def fuse(self, quartet: Tensor, self_scores: Tensor) -> Tensor:
        """Return A_band of A_qart and A_self, (B, H, R, L) each."""
        if self.fusion == "mul":
            return quartet * self_scores
        return times_theta(quartet, self.theta_quartet) + times_theta(self_scores, self.theta_self)

    def maps(self, x: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
        """Return the softmax of each term with its learned weight, and of the band, (B, H, L, L) each.

        softmax(theta_s A_self), softmax(theta_q A_qart), softmax(A_band); without thetas those of the plain scores.
        """
        quartet, self_scores = self.terms(x, mask)
        scores = {
            "self": times_theta(self_scores, self.theta_self),
            "quartet": times_theta(quartet, self.theta_quartet),
            "band": self.fuse(quartet, self_scores),
        }
        return {name: masked_softmax(found, mask) for name, found in scores.items()}
