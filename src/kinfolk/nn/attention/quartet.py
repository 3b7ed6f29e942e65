"""Quartet attention: two rows are compared by their cosines to all rows of the sub-graph."""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm
from torch.nn.functional import normalize

from kinfolk._core.checks import check_choice
from kinfolk._core.errors import InputError
from kinfolk.nn.attention._base import (
    Attention,
    Init,
    Normalize,
    Projected,
    against,
    fill,
    optional_theta,
    through,
    times_theta,
)
from kinfolk.nn.attention._cosines import cosines, only_real

_TINY = 1e-12  # lengths below it count as this


def rank_map(size: int, served: int) -> Tensor:
    """Return R, which maps weights of `size` ranks to `served` ranks.

    Row 0 is the probe and is kept. The ranks of the neighbours are interpolated linearly at the same relative position
    between first and last, averaged over a rank's width when `served` is smaller. The neighbours' part has the factor
    sqrt((size - 1) / (served - 1)), so that R D R^T keeps the size of a^T D b for L2-normalised a, b that depend
    smoothly on the rank.

    Parameters
    ----------
    size : rows of the sub-graphs in training.
    served : rows of the sub-graphs now.

    Returns
    -------
    R : (served, size), float64.

    Examples
    --------
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
    """Sim-M in matrix form: two nodes are close if their cosines to all others are alike (equation 5 of the paper).

    A_qart = Q K^T,  Q = A_X W_Q,  K = A_X W_K,  A_X (L, L) the cosines of all pairs,  W_Q, W_K (size, size).

    Computed as ((A_X W_Q) W_K^T) A_X^T, which needs L^2 instead of L^3 operations for the probe's row; for all rows
    W_Q W_K^T is multiplied out once for the whole batch.

    Sub-graphs may have other numbers of rows than `size`. With D = W_Q W_K^T - I the product becomes I + R D R^T, where
    R (see `rank_map`) interpolates over the ranks of the neighbours: weights near the identity stay near it. With
    normalize="qk" W_Q and W_K are mapped one by one.

    Parameters
    ----------
    size : rows of a sub-graph, k + 1.
    heads : number of heads.
    weights : "rank": W_Q and W_K are learned and tied to the rank of a neighbour; "identity": A_qart = A_X A_X^T.
    normalize : "adjacency": the rows of A_X are L2-normalised, the paper's form; "qk": those of Q and K instead.
    floor : the smallest value of a cosine; 0 treats opposite nodes as unrelated ones. None: no limit.
    init : "random" (Xavier) or "identity".
    theta : initial value of a learnable factor of the scores; None: no factor, the paper's form.

    Notes
    -----
    Shapes: x (B, L, M), mask (B, L)  ->  (B, H, R, L).

    Examples
    --------
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
        """Initialise the weights; there are none with weights="identity"."""
        super().__init__(heads)
        check_choice("weights", weights, ("rank", "identity"))
        check_choice("normalize", normalize, get_args(Normalize))
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
        known = cosines(x, mask, self.floor) if adjacency is None else only_real(adjacency, mask)
        known = known if known.dim() == 4 else known[:, None]
        if self.normalize == "qk" and self.query is not None and self.key is not None:
            query = normalize(through(known[:, :, :rows], self._served(self.query, x.shape[1])), dim=-1)
            key = normalize(through(known, self._served(self.key, x.shape[1])), dim=-1)
            return times_theta(query @ key.transpose(-1, -2), self.theta)
        # scores are divided by the lengths of A_X's rows afterwards: there are fewer scores than entries of A_X
        inverse = 1 / vector_norm(known, dim=-1).clamp(min=_TINY)
        merged_query = self._times_merged_weight(known[:, :, :rows] * inverse[:, :, :rows, None])
        scores = against(merged_query, known) * inverse[:, :, None, :]
        return times_theta(scores.expand(-1, self.heads, -1, -1), self.theta)

    @property
    def ranked(self) -> bool:
        """Whether W_Q and W_K are learned and tied to the ranks."""
        return self.query is not None

    def _times_merged_weight(self, few: Tensor) -> Tensor:
        """Return few (B, G, R, L) times W_Q W_K^T, (B, H, R, L), multiplied out where that is cheaper."""
        if self.query is None or self.key is None:  # Q = K = A_X
            return few
        size = few.shape[-1]
        if size == self.size and len(few) * few.shape[2] < size:
            return through(through(few, self.query), self.key.transpose(-1, -2))
        return through(few, self.merged_weight(size))

    def merged_weight(self, size: int) -> Tensor:
        """Return W_Q W_K^T for sub-graphs of `size` rows, (H, size, size); one identity where there are no weights."""
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
