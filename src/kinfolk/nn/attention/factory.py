"""An attention by its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

from kinfolk._core.checks import check_choice
from kinfolk.nn.attention._base import Attention, Fusion, Init, Normalize
from kinfolk.nn.attention.band import BandAttention
from kinfolk.nn.attention.cosine import CosineAttention
from kinfolk.nn.attention.gcn import GCNAdjacency
from kinfolk.nn.attention.kernel import KernelAttention
from kinfolk.nn.attention.quartet import QuartetAttention
from kinfolk.nn.attention.self_attention import SelfAttention
from kinfolk.nn.attention.tilde import TildeQuartet

Name = Literal["none", "self", "quartet", "band", "quartet_self", "band_self", "cosine", "kernel"]

SELF_SCALE = 2.0  # close to the plain mean; 4, 6 and 10 were worse on person_like after training (docs/attention.md)


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

    Parameters
    ----------
    name : "none" (the adjacency of a plain GCN, one head), "self", "quartet", "band"; "quartet_self" and "band_self",
        the same with A_self in the place of A_X; "cosine" and "kernel", whose first scores are of the size of `scale`.
    dim, size : columns and rows of a sub-graph, size = k + 1.
    width, heads : of the self attention's queries and keys, all heads together; number of heads.
    fusion : see `BandAttention`.
    quartet_weights, normalize, floor : see `QuartetAttention`.
    init : "random", or "identity": untrained, the attention is the training-free form, e.g. softmax(scale * A_qart) for
        the quartet. W_Q and W_K are identities and a learnable theta starts at `scale`; that of the self attention in a
        band starts at 0.1 (at 0 its weights would never get a gradient).
    scale : sharpness of the training-free attention.

    Returns
    -------
    attention : Attention.

    Examples
    --------
    >>> import torch
    >>> attention = make_attention("quartet", dim=2, size=2, init="identity", scale=10.0)
    >>> attention(torch.tensor([[[1.0, 0.0], [0.6, 0.8]]]), rows=1).detach().round(decimals=2)
    tensor([[[[10.0000,  8.8200]]]])
    >>> make_attention("band", dim=2, size=2, width=2, init="identity").theta_self.item()
    0.10000000149011612
    """
    check_choice("attention", name, get_args(Name))
    without_weights: dict[str, Callable[[], Attention]] = {
        "none": GCNAdjacency,
        "cosine": lambda: CosineAttention(heads, scale),
        "kernel": lambda: KernelAttention(heads, scale**-0.5),
    }
    if name in without_weights:
        return without_weights[name]()
    free = init == "identity"
    weighted = name in ("band", "band_self") and fusion == "theta"
    # columns of W_Q and W_K beyond `dim` would start at zero and stay zero
    width = min(width, dim) if free else width
    # undoes the division by sqrt(width of a head), and the smaller sums of a head with a share of the columns
    unit = heads * math.sqrt(width // heads)
    if name == "self":
        self_attention = SelfAttention(dim, width, heads, init, SELF_SCALE if free else None)
        if free:  # so that the learned theta is the scale alone
            self_attention.query.data.mul_(math.sqrt(unit))
            self_attention.key.data.mul_(math.sqrt(unit))
        return self_attention
    self_attention = SelfAttention(dim, width, heads, init, unit if free and not weighted else None)
    weights: Literal["rank", "identity"] = "rank" if quartet_weights else "identity"
    theta_quartet = scale if free and not weighted else None
    quartet = QuartetAttention(size, heads, weights, normalize, floor, init, theta_quartet)
    if name == "quartet":
        return quartet
    if name == "quartet_self":
        return TildeQuartet(self_attention, quartet)
    thetas = dict(theta_self=0.1, theta_quartet=scale) if free else {}
    return BandAttention(self_attention, quartet, fusion, tilde=name == "band_self", **thetas)
