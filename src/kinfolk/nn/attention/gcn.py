"""The adjacency of a plain GCN."""

from __future__ import annotations

import torch
from torch import Tensor

from kinfolk.nn.attention._base import Attention, Projected
from kinfolk.nn.attention._cosines import cosines


class GCNAdjacency(Attention):
    """The adjacency of a plain GCN: weights by similarity, nothing is learned (equation 1 of the paper).

    D^-1/2 (A + I) D^-1/2,  A_ij = max(0, cos(x_i, x_j)) for i != j,  D_ii = sum_j (A + I)_ij.

    No softmax is applied. A padding row has an edge to itself only.

    Shapes: x (B, L, M), mask (B, L)  ->  (B, 1, R, L).

    Parameters
    ----------
    heads : 1; nothing is learned that could differ between heads.

    Examples
    --------
    >>> GCNAdjacency()(torch.eye(2)[None])
    tensor([[[[1., 0.],
              [0., 1.]]]])
    """

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return the weights, (B, 1, R, L)."""
        own = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
        linked = cosines(x, mask, floor=0.0) * (1 - own) + own
        inverse = linked.sum(dim=-1).rsqrt()
        return (linked[:, :rows] * inverse[:, :rows, None] * inverse[:, None, :])[:, None]

    def weights(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return the same as a call."""
        return self(x, mask, rows)
