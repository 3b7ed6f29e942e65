"""Attention over dense sub-graphs: a probe, its nearest neighbours in rank order, and the probe's better vector."""

from kinfolk._core import needs_torch  # noqa: F401
from kinfolk.nn.attention import (
    Attention,
    BandAttention,
    CosineAttention,
    GCNAdjacency,
    KernelAttention,
    QuartetAttention,
    SelfAttention,
    TildeQuartet,
    adjacency,
    cosines,
    make_attention,
    masked_softmax,
    rank_map,
)
from kinfolk.nn.encoder import Encoder, EncoderConfig
from kinfolk.nn.layers import GCNLayer, TransformerLayer, attend
from kinfolk.nn.losses import hinge_loss, supervised_contrastive

__all__ = [
    "Attention",
    "BandAttention",
    "CosineAttention",
    "Encoder",
    "EncoderConfig",
    "GCNAdjacency",
    "GCNLayer",
    "KernelAttention",
    "QuartetAttention",
    "SelfAttention",
    "TildeQuartet",
    "TransformerLayer",
    "adjacency",
    "attend",
    "cosines",
    "hinge_loss",
    "make_attention",
    "masked_softmax",
    "rank_map",
    "supervised_contrastive",
]
