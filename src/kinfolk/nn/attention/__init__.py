"""Attention within a sub-graph: the forms of section 2.3 of the paper and those they are compared with.

A batch of sub-graphs is x (B, L, M): row 0 is the probe, then its neighbours in rank order. mask (B, L) is True where a
row is real, False where it is padding; None: all are real. `rows` = R: compute the first R rows of the result only, as
the last layer needs the probe's row alone; None: all L. H is the number of heads.
"""

from kinfolk.nn.attention._base import (
    Attention,
    Fusion,
    Init,
    Normalize,
    Projected,
    fill,
    masked_softmax,
    split_heads,
)
from kinfolk.nn.attention._cosines import adjacency, cosines
from kinfolk.nn.attention.band import BandAttention
from kinfolk.nn.attention.cosine import CosineAttention
from kinfolk.nn.attention.factory import Name, make_attention
from kinfolk.nn.attention.gcn import GCNAdjacency
from kinfolk.nn.attention.kernel import KernelAttention
from kinfolk.nn.attention.quartet import QuartetAttention, rank_map
from kinfolk.nn.attention.self_attention import SelfAttention
from kinfolk.nn.attention.tilde import TildeQuartet

__all__ = [
    "Attention",
    "BandAttention",
    "CosineAttention",
    "Fusion",
    "GCNAdjacency",
    "Init",
    "KernelAttention",
    "Name",
    "Normalize",
    "Projected",
    "QuartetAttention",
    "SelfAttention",
    "TildeQuartet",
    "adjacency",
    "cosines",
    "fill",
    "make_attention",
    "masked_softmax",
    "rank_map",
    "split_heads",
]
