"""Cosine attention against its equation."""

import torch

from kinfolk.nn import CosineAttention, cosines


def rows():
    return torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_scores_are_scaled_cosines():
    attention = CosineAttention(heads=2, scale=7.0).double()
    torch.testing.assert_close(attention(rows()), 7 * cosines(rows())[:, None].expand(-1, 2, -1, -1), rtol=1e-6, atol=0)
