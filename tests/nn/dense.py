"""An encoder of GCN layers the straightforward way: all rows in all layers, Q K^T as it is written, row 0 at the end.

Beside the fast path in `kinfolk.nn`: for tests that both give the same, and for benchmarks of what is saved.
"""

import torch
from torch.nn.functional import normalize

from kinfolk.nn import BandAttention, Encoder, GCNAdjacency, QuartetAttention, SelfAttention


def forward_all_rows(encoder: Encoder, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """Return what encoder(x, mask) returns: one head, sub-graphs of k + 1 rows, attention none/self/quartet/band."""
    if mask is None:
        mask = torch.ones(x.shape[:2], dtype=torch.bool)
    for layer in encoder.layers:
        mixed = attention_map(layer.attention, x, mask) @ x
        joined = torch.cat([x, mixed], dim=-1) if layer.concat else mixed
        x = layer.activation(layer.norm(joined @ layer.weight))
    z = normalize(x[:, 0], dim=-1)
    return z if encoder.last is None else normalize(encoder.activation(encoder.last(z)), dim=-1)


def attention_map(attention, x, mask):
    if isinstance(attention, GCNAdjacency):
        own = torch.eye(x.shape[1], dtype=x.dtype)
        linked = cosine_map(x, mask, 0.0) * (1 - own) + own
        degree = linked.sum(dim=-1)
        return linked / (degree[:, :, None] * degree[:, None, :]).sqrt()
    return scores(attention, x, mask).masked_fill(~mask[:, None, :], -torch.inf).softmax(dim=-1)


def scores(attention, x, mask):
    if isinstance(attention, SelfAttention):
        result = (x @ attention.query) @ (x @ attention.key).transpose(1, 2) / attention.query.shape[1] ** 0.5
    elif isinstance(attention, QuartetAttention):
        tests = cosine_map(x, mask, attention.floor)
        if attention.normalize == "adjacency":
            tests = normalize(tests, dim=-1)
        query = tests if attention.query is None else tests @ attention.query[0]
        key = tests if attention.key is None else tests @ attention.key[0]
        if attention.normalize == "qk":
            query, key = normalize(query, dim=-1), normalize(key, dim=-1)
        result = query @ key.transpose(1, 2)
    elif isinstance(attention, BandAttention) and not attention.tilde:
        self_scores, quartet = scores(attention.self_attention, x, mask), scores(attention.quartet_attention, x, mask)
        if attention.fusion == "mul":
            return self_scores * quartet
        if attention.fusion == "add":
            return self_scores + quartet
        return attention.theta_self * self_scores + attention.theta_quartet * quartet
    else:
        raise NotImplementedError(type(attention).__name__)
    return result if attention.theta is None else attention.theta * result


def cosine_map(x, mask, floor):
    unit = normalize(x, dim=-1)
    cosine = unit @ unit.transpose(1, 2)
    cosine = cosine if floor is None else cosine.clamp(min=floor)
    return cosine * (mask[:, :, None] & mask[:, None, :])
