"""The quartet attention: two rows and how all others see them."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm
from torch.nn.functional import normalize

from kinfolk._core.errors import InputError
from kinfolk.nn.attention._base import (
    Attention,
    Init,
    Normalize,
    Projected,
    against,
    check_choice,
    fill,
    optional_theta,
    through,
    times_theta,
)
from kinfolk.nn.attention._cosines import cosines, only_real

_TINY = 1e-12


def rank_map(size: int, served: int) -> Tensor:
    """Return R, which carries what is tied to the ranks of `size` rows over to `served` rows.

    Row 0 is the probe, kept to itself. The others are its neighbours: a rank of the one list is interpolated linearly
    between ranks of the other at the same place between first and last, averaged over a rank's width when `served` is
    smaller. R D R^T keeps the size of a^T D b for L2-normalised a, b that depend smoothly on the rank, for which the
    part of the neighbours carries the factor sqrt((size - 1) / (served - 1)).

    Shape: (served, size).

    >>> rank_map(3, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]], dtype=torch.float64)
    >>> rank_map(3, 5)[1:] * 2**0.5
    tensor([[0.0000, 1.0000, 0.0000],
            [0.0000, 0.7500, 0.2500],
            [0.0000, 0.2500, 0.7500],
            [0.0000, 0.0000, 1.0000]], dtype=torch.float64)
    """
    known, wanted = size - 1, served - 1
    result = torch.zeros(served, size, dtype=torch.float64)
    result[0, 0] = 1.0
    if wanted:
        step = known / wanted
        place = ((torch.arange(wanted, dtype=torch.float64) + 0.5) * step - 0.5).clamp(0, known - 1)
        hat = (1 - (torch.arange(known) - place[:, None]).abs() / max(step, 1.0)).clamp(min=0)
        result[1:, 1:] = math.sqrt(step) * hat / hat.sum(dim=1, keepdim=True)
    return result


class QuartetAttention(Attention):
    """Sim-M in matrix form: two nodes are close when all others see them alike (equation 5 of the paper).

    A_qart = Q K^T,  Q = A_X W_Q,  K = A_X W_K,  A_X (L, L) the cosines of all pairs,  W_Q, W_K (size, size).

    weights      "rank": W_Q, W_K are learned and tied to the rank of a neighbour, size = k + 1; "identity": there are
                 none, A_qart = A_X A_X^T.
    normalize    "adjacency": the rows of A_X are L2-normalised, the paper's form; "qk": those of Q and K instead.
    floor        the least a cosine can be; 0 makes opposite nodes as good as unrelated ones.
    theta        a learnable factor of the scores, with this first value; None: none, the paper's form.

    The scores are worked out as ((A_X W_Q) W_K^T) A_X^T: the same numbers, and for the probe's row L^2 instead of L^3
    operations; for all rows W_Q W_K^T is formed once for the whole batch.

    Any other number of rows than `size` is served, too. With D = W_Q W_K^T - I the middle is then I + R D R^T, where R
    (see `rank_map`) interpolates over the ranks of the neighbours: weights near the identity stay near the identity.
    With normalize="qk" W_Q and W_K are carried over in this way one by one.

    >>> attention = QuartetAttention(size=3, init="identity")
    >>> x = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]])
    >>> attention(x, rows=1).detach().round(decimals=2)
    tensor([[[[1.0000, 0.3200, 0.7300]]]])
    >>> attention(x[:, :2]).shape
    torch.Size([1, 1, 2, 2])
    """

    def __init__(
        self,
        size: int,
        heads: int = 1,
        weights: Literal["rank", "identity"] = "rank",
        normalize: Normalize = "adjacency",
        floor: float | None = None,
        init: Init = "random",
        theta: float | None = None,
    ) -> None:
        """Make the weights: Xavier at random, or the identity; none with weights="identity"."""
        super().__init__(heads)
        check_choice("weights", weights, Literal["rank", "identity"])
        check_choice("normalize", normalize, Normalize)
        if size < 2:
            raise InputError(f"a sub-graph needs the probe and one neighbour or more, not {size} rows")
        self.size, self.normalize, self.floor = size, normalize, floor
        self.theta = optional_theta(theta, heads)
        self.query: nn.Parameter | None = None
        self.key: nn.Parameter | None = None
        if weights == "rank":
            self.query = nn.Parameter(torch.empty(heads, size, size))
            self.key = nn.Parameter(torch.empty(heads, size, size))
            fill(self.query, init)
            fill(self.key, init)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        rows: int | None = None,
        projected: Projected | None = None,
        adjacency: Tensor | None = None,
    ) -> Tensor:
        """Return A_qart, (B, H, R, L); `adjacency` (B, L, L) or (B, H, L, L) takes the place of the cosines."""
        tests = cosines(x, mask, self.floor) if adjacency is None else only_real(adjacency, mask)
        tests = tests if tests.dim() == 4 else tests[:, None]
        if self.normalize == "qk" and self.query is not None and self.key is not None:
            query = normalize(through(tests[:, :, :rows], self._served(self.query, x.shape[1])), dim=-1)
            key = normalize(through(tests, self._served(self.key, x.shape[1])), dim=-1)
            return times_theta(query @ key.transpose(-1, -2), self.theta)
        # the rows of A_X are divided by their lengths as late as it can be: few rows, then few scores
        inverse = 1 / vector_norm(tests, dim=-1).clamp(min=_TINY)
        asked = self.through_middle(tests[:, :, :rows] * inverse[:, :, :rows, None])
        scores = against(asked, tests) * inverse[:, :, None, :]
        return times_theta(scores.expand(-1, self.heads, -1, -1), self.theta)

    @property
    def ranked(self) -> bool:
        """Whether there are weights, which are tied to the ranks."""
        return self.query is not None

    def through_middle(self, few: Tensor) -> Tensor:
        """Return few (B, G, R, L) times W_Q W_K^T, (B, H, R, L), which is formed where that is cheaper."""
        if self.query is None or self.key is None:  # Q = K = A_X
            return few
        size = few.shape[-1]
        if size == self.size and len(few) * few.shape[2] < size:
            return through(through(few, self.query), self.key.transpose(-1, -2))
        return through(few, self.middle(size))

    def middle(self, size: int) -> Tensor:
        """Return W_Q W_K^T for sub-graphs of `size` rows, (H, size, size); a single identity where there is neither."""
        if self.query is None or self.key is None:
            return torch.eye(size)[None]
        return self._served(self.query @ self.key.transpose(-1, -2), size)

    def _served(self, weight: Tensor, size: int) -> Tensor:
        """Return the weight (H, self.size, self.size) for sub-graphs of `size` rows."""
        if size == self.size:
            return weight
        ranks = rank_map(self.size, size).to(weight)
        return _eye(size, weight) + ranks @ (weight - _eye(self.size, weight)) @ ranks.T


def _eye(size: int, like: Tensor) -> Tensor:
    return torch.eye(size, dtype=like.dtype, device=like.device)
