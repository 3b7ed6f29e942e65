"""Who in a sub-graph listens to whom: the attentions of section 2.3 of the paper and those it is compared with.

A batch of sub-graphs is x (B, L, M): row 0 is the probe, then its neighbours in rank order. mask (B, L) is True where a
row is real; None: all are. `rows` = R asks for the first R rows of a result only, since only the probe's is needed in
the end; None: all L.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from kinfolk.errors import InputError

Fusion = Literal["theta", "add", "mul"]
Init = Literal["random", "identity"]
Normalize = Literal["adjacency", "qk"]
Name = Literal["none", "self", "quartet", "band", "quartet_self", "band_self", "cosine", "kernel"]
Projected = Mapping[str, Tensor]

_TINY = 1e-12


def check_choice(what: str, value: object, choices: object) -> None:
    """Raise unless `value` is one of the values of the Literal `choices`.

    >>> check_choice("fusion", "add", Fusion)
    """
    if value not in get_args(choices):
        raise InputError(f"{what} must be one of {', '.join(map(repr, get_args(choices)))}, not {value!r}")


def fill(weight: Tensor, init: Init) -> None:
    """Fill the matrix, or each of a stack of them, with the identity (cut to its shape) or at random (Xavier).

    >>> weight = torch.empty(2, 3)
    >>> fill(weight, "identity")
    >>> weight.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    check_choice("init", init, Init)
    with torch.no_grad():
        for matrix in weight.view(-1, *weight.shape[-2:]):
            if init == "identity":
                nn.init.eye_(matrix)
            else:
                nn.init.xavier_uniform_(matrix)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Return the softmax over the last axis, with exactly 0 on the columns of rows that are not real.

    Shapes: scores (B, H, R, L), mask (B, L)  ->  (B, H, R, L).

    >>> masked_softmax(torch.zeros(1, 1, 1, 3), torch.tensor([[True, True, False]]))
    tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None, None, :], -math.inf)
    return scores.softmax(dim=-1)


def cosines(x: Tensor, mask: Tensor | None = None, floor: float | None = None) -> Tensor:
    """Return the cosines of all pairs of rows, at least `floor` where it is given, and 0 where a row is not real.

    C_ij = x_i . x_j / (||x_i|| ||x_j||).  Shapes: x (B, L, M)  ->  (B, L, L).

    >>> cosines(torch.tensor([[[1.0, 0.0], [3.0, 4.0]]]))
    tensor([[[1.0000, 0.6000],
             [0.6000, 1.0000]]])
    """
    products = x @ x.transpose(-1, -2)
    inverse = products.diagonal(dim1=-2, dim2=-1).clamp(min=_TINY**2).rsqrt()
    cosine = products * inverse[:, :, None] * inverse[:, None, :]
    return _only_real(cosine if floor is None else cosine.clamp(min=floor), mask)


def adjacency(x: Tensor, mask: Tensor | None = None, floor: float | None = None) -> Tensor:
    """Return A_X, the cosines of all pairs of rows, each row L2-normalised.

    A_X = X X^T with the rows of X, then of A_X, divided by their lengths; a test that fails by less than `floor`
    counts as `floor`.  Shapes: x (B, L, M), mask (B, L)  ->  (B, L, L).

    >>> adjacency(torch.tensor([[[1.0, 0.0], [3.0, 4.0], [0.0, -1.0]]]), floor=0.0)[0].square().sum(dim=1)
    tensor([1., 1., 1.])
    """
    return normalize(cosines(x, mask, floor), dim=-1)


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


class Attention(nn.Module):
    """What every attention can do: scores by calling it, and the final weights, which sum to one in each row.

    >>> attention = CosineAttention()
    >>> x = torch.eye(3)[None]
    >>> attention(x, rows=1).shape, attention.weights(x).sum(dim=-1).round(decimals=4).tolist()
    (torch.Size([1, 1, 1, 3]), [[[1.0, 1.0, 1.0]]])
    """

    def __init__(self, heads: int = 1) -> None:
        """Make room for `heads` attentions side by side."""
        super().__init__()
        if heads < 1:
            raise InputError(f"an attention needs one head or more, not {heads}")
        self.heads = heads

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return what depends on each row alone, whichever sub-graph it is in: (..., M) -> (..., width) each."""
        return {}

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return the scores before the softmax, (B, H, R, L); `projected`: the result of `project`, if it is there."""
        raise NotImplementedError

    def weights(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return softmax(scores), (B, H, R, L), 0 on rows that are not real."""
        return masked_softmax(self(x, mask, rows, projected), mask)


class GCNAdjacency(Attention):
    """The plain GCN: every neighbour counts as much as it is similar, nothing is learned (equation 1 of the paper).

    D^-1/2 (A + I) D^-1/2,  A_ij = max(0, cos(x_i, x_j)) for i != j,  D_ii = sum_j (A + I)_ij.

    These are weights already: no softmax. A row that is not real has an edge to itself alone.

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


class CosineAttention(Attention):
    """softmax(s cos(x_i, x_j)) with the learnable scale s > 0 of each head.

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
        return _per_head(self.log_scale.exp()) * (unit[:, :rows] @ unit.transpose(-1, -2))[:, None]


class KernelAttention(Attention):
    """softmax(-||x_i - x_j||^2 / (2 sigma^2)) with the learnable width sigma > 0 of each head.

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
        return _per_head((-2 * self.log_sigma).exp() / -2) * distance[:, None]


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
        self.theta = _optional(theta, heads)
        fill(self.query, init)
        fill(self.key, init)

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return X W_Q and X W_K."""
        return {"query": x @ self.query, "key": x @ self.key}

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return A_self, (B, H, R, L)."""
        size, dim = x.shape[1:]
        width = self.query.shape[1] // self.heads
        query = projected["query"][:, :rows] if projected else x[:, :rows] @ self.query
        if not projected and self._pays_without_keys(query.shape[1], size, dim):
            # (x_0 W_Q) (X W_K)^T = ((x_0 W_Q) W_K^T) X^T: the keys are never made
            through = _through(split_heads(query, self.heads), self.key.view(dim, self.heads, width).permute(1, 2, 0))
            scores = _against(through, x[:, None])
        else:
            key = projected["key"] if projected else x @ self.key
            scores = split_heads(query, self.heads) @ split_heads(key, self.heads).transpose(-1, -2)
        return _times_theta(scores / math.sqrt(width), self.theta)

    def _pays_without_keys(self, few: int, size: int, dim: int) -> bool:
        width = self.query.shape[1]
        return few * dim * (width + self.heads * size) < size * width * (dim + few)


class QuartetAttention(Attention):
    """Sim-M in matrix form: two nodes are close when all others see them alike (equation 5 of the paper).

    A_qart = Q K^T,  Q = A_X W_Q,  K = A_X W_K,  A_X (L, L) the cosines of all pairs,  W_Q, W_K (size, size).

    weights      "rank": W_Q, W_K are learned and tied to the rank of a neighbour, size = k + 1; "identity": there are
                 none, A_qart = A_X A_X^T.
    normalize    "adjacency": the rows of A_X are L2-normalised, the paper's form; "qk": those of Q and K instead.
    floor        the least a cosine can be; 0 makes opposite nodes as good as unrelated ones.
    theta        a learnable factor of the scores, with this first value; None: none, the paper's form.

    The scores are worked out as ((A_X W_Q) W_K^T) A_X^T with W_Q W_K^T formed once for the whole batch: the same
    numbers, and for the probe's row L^2 instead of L^3 operations.

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
        self.theta = _optional(theta, heads)
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
        tests = cosines(x, mask, self.floor) if adjacency is None else _only_real(adjacency, mask)
        tests = tests if tests.dim() == 4 else tests[:, None]
        if self.query is None or self.key is None:  # then Q = K = A_X, and it is the same which of them is normalised
            tests = normalize(tests, dim=-1)
            scores = tests[:, :, :rows] @ tests.transpose(-1, -2)
            scores = scores.expand(-1, self.heads, -1, -1)
        elif self.normalize == "adjacency":
            tests = normalize(tests, dim=-1)
            middle = self._served(self.query @ self.key.transpose(-1, -2), x.shape[1])
            scores = _against(_through(tests[:, :, :rows], middle), tests)
        else:
            query = normalize(_through(tests[:, :, :rows], self._served(self.query, x.shape[1])), dim=-1)
            key = normalize(_through(tests, self._served(self.key, x.shape[1])), dim=-1)
            scores = query @ key.transpose(-1, -2)
        return _times_theta(scores, self.theta)

    def _served(self, weight: Tensor, size: int) -> Tensor:
        """Return the weight (H, self.size, self.size) for sub-graphs of `size` rows."""
        if size == self.size:
            return weight
        ranks = rank_map(self.size, size).to(weight)
        return _eye(size, weight) + ranks @ (weight - _eye(self.size, weight)) @ ranks.T


class TildeQuartet(Attention):
    """The quartet attention of what self attention sees: A_self, before the softmax, in the place of A_X.

    Ã_qart = (A_self W_Q) (A_self W_K)^T with the rows of A_self L2-normalised.

    >>> attention = TildeQuartet(SelfAttention(4, 2), QuartetAttention(size=3))
    >>> attention(torch.ones(1, 3, 4), rows=1).shape
    torch.Size([1, 1, 1, 3])
    """

    def __init__(self, self_attention: SelfAttention, quartet_attention: QuartetAttention) -> None:
        """Put the one on top of the other."""
        super().__init__(_common_heads(self_attention, quartet_attention))
        self.self_attention = self_attention
        self.quartet_attention = quartet_attention

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return those of the self attention."""
        return self.self_attention.project(x)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return Ã_qart, (B, H, R, L)."""
        seen = self.self_attention(x, mask, projected=projected)
        return self.quartet_attention(x, mask, rows, adjacency=seen)


class BandAttention(Attention):
    """The duet and the quartet together (equation 7 of the paper).

    fusion  "theta"  A_band = theta_q A_qart + theta_s A_self, both learned
            "add"    A_band = A_qart + A_self
            "mul"    A_band = A_qart * A_self, element by element
    tilde   Ã_qart (see `TildeQuartet`) instead of A_qart.

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
        """Fuse the two; the thetas are first values, one for each head, and only there with fusion="theta"."""
        super().__init__(_common_heads(self_attention, quartet_attention))
        check_choice("fusion", fusion, Fusion)
        self.fusion, self.tilde = fusion, tilde
        self.self_attention = self_attention
        self.quartet_attention = quartet_attention
        weighted = fusion == "theta"
        self.theta_self = _optional(theta_self if weighted else None, self.heads)
        self.theta_quartet = _optional(theta_quartet if weighted else None, self.heads)

    def project(self, x: Tensor) -> dict[str, Tensor]:
        """Return those of the self attention."""
        return self.self_attention.project(x)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, rows: int | None = None, projected: Projected | None = None
    ) -> Tensor:
        """Return A_band before the softmax, (B, H, R, L)."""
        duet = self.self_attention(x, mask, None if self.tilde else rows, projected)
        quartet = self.quartet_attention(x, mask, rows, adjacency=duet if self.tilde else None)
        duet = duet[:, :, :rows]
        if self.fusion == "mul":
            return quartet * duet
        return _times_theta(quartet, self.theta_quartet) + _times_theta(duet, self.theta_self)


def make_attention(
    name: Name,
    dim: int,
    size: int,
    *,
    width: int = 256,
    heads: int = 1,
    fusion: Fusion = "theta",
    quartet_weights: bool = True,
    normalize: Normalize = "adjacency",
    init: Init = "random",
    floor: float | None = None,
    scale: float = 15.0,
) -> Attention:
    """Return the attention called `name` for sub-graphs of `size` rows with `dim` columns.

    "none" the plain GCN's adjacency, which has one head; "self", "quartet", "band"; "quartet_self" and "band_self", the
    same with A_self in the place of A_X; "cosine" and "kernel", which start with scores of the size of `scale`.

    init="identity": before any training the attention is the training-free form, e.g. softmax(scale * A_qart) for the
    quartet. W_Q and W_K are identities and a learnable theta starts at `scale`; that of the self attention, which
    stands beside the quartet in a band, at 0.1 (at 0 its weights would never get a gradient).

    >>> attention = make_attention("quartet", dim=2, size=2, init="identity", scale=10.0)
    >>> attention(torch.tensor([[[1.0, 0.0], [0.6, 0.8]]]), rows=1).detach().round(decimals=2)
    tensor([[[[10.0000,  8.8200]]]])
    >>> make_attention("band", dim=2, size=2, width=2, init="identity").theta_self.item()
    0.10000000149011612
    """
    check_choice("attention", name, Name)
    without_weights: dict[str, Callable[[], Attention]] = {
        "none": GCNAdjacency,
        "cosine": lambda: CosineAttention(heads, scale),
        "kernel": lambda: KernelAttention(heads, scale**-0.5),
    }
    if name in without_weights:
        return without_weights[name]()
    free = init == "identity"
    weighted = name in ("band", "band_self") and fusion == "theta"
    # columns past `dim` would be zero in W_Q and W_K and so stay zero
    width = min(width, dim) if free else width
    # undoes the division by sqrt(width of a head), and that a head sees its share of the columns only
    unit = heads * math.sqrt(width // heads)
    theta_self = unit * (scale if name == "self" else 1.0) if free and not weighted else None
    duet = SelfAttention(dim, width, heads, init, theta_self)
    if name == "self":
        return duet
    weights: Literal["rank", "identity"] = "rank" if quartet_weights else "identity"
    theta_quartet = scale if free and not weighted else None
    quartet = QuartetAttention(size, heads, weights, normalize, floor, init, theta_quartet)
    if name == "quartet":
        return quartet
    if name == "quartet_self":
        return TildeQuartet(duet, quartet)
    thetas = dict(theta_self=0.1, theta_quartet=scale) if free else {}
    return BandAttention(duet, quartet, fusion, tilde=name == "band_self", **thetas)


def _only_real(matrix: Tensor, mask: Tensor | None) -> Tensor:
    """Return the matrix (B, L, L) or (B, H, L, L) with 0 in rows and columns that are not real."""
    if mask is None:
        return matrix
    real = mask[:, :, None] & mask[:, None, :]
    return matrix.masked_fill(~(real if matrix.dim() == 3 else real[:, None]), 0.0)


def _through(matrix: Tensor, weight: Tensor) -> Tensor:
    """Return matrix (B, G, R, L) times weight (H, L, M), (B, H, R, M), for G = 1 or G = H."""
    batch, groups, few, size = matrix.shape
    # one product per head for the whole batch: broadcasting would copy the weight for each sub-graph
    product = matrix.transpose(0, 1).reshape(groups, batch * few, size) @ weight
    return product.view(len(weight), batch, few, -1).transpose(0, 1)


def _against(left: Tensor, matrix: Tensor) -> Tensor:
    """Return left (B, H, R, M) times the transpose of matrix (B, G, L, M), (B, H, R, L), for G = 1 or G = H."""
    batch, groups, size, dim = matrix.shape
    product = left.reshape(batch, groups, -1, dim) @ matrix.transpose(-1, -2)
    return product.view(*left.shape[:3], size)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Return the columns split over the heads: (B, L, H c) -> (B, H, L, c).

    >>> split_heads(torch.arange(4).view(1, 1, 4), heads=2).tolist()
    [[[[0, 1]], [[2, 3]]]]
    """
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def _optional(value: float | None, heads: int) -> nn.Parameter | None:
    return None if value is None else nn.Parameter(torch.full((heads,), float(value)))


def _per_head(theta: Tensor) -> Tensor:
    return theta[:, None, None]


def _times_theta(scores: Tensor, theta: Tensor | None) -> Tensor:
    return scores if theta is None else _per_head(theta) * scores


def _eye(size: int, like: Tensor) -> Tensor:
    return torch.eye(size, dtype=like.dtype, device=like.device)


def _common_heads(first: Attention, second: Attention) -> int:
    if first.heads != second.heads:
        raise InputError(f"both attentions need the same number of heads, not {first.heads} and {second.heads}")
    return first.heads
