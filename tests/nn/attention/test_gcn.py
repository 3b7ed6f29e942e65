"""The adjacency of a plain GCN against its equation."""

import torch

from kinfolk.nn import GCNAdjacency, cosines


def rows():
    return torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_the_adjacency_is_that_of_the_equation():
    x = rows()
    linked = cosines(x).clamp(min=0)
    linked.diagonal(dim1=1, dim2=2).fill_(1.0)
    degrees = torch.diag_embed(linked.sum(dim=-1) ** -0.5)
    found = GCNAdjacency()(x)
    torch.testing.assert_close(found[:, 0], degrees @ linked @ degrees)
    torch.testing.assert_close(GCNAdjacency().weights(x, rows=1), found[:, :, :1])
