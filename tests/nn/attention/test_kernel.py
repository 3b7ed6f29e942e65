"""Kernel attention against its equation."""

import torch

from kinfolk.nn import KernelAttention


def rows():
    return torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_scores_are_negative_squared_distances():
    attention = KernelAttention(heads=2, sigma=0.5).double()
    expected = -torch.cdist(rows(), rows()).square() / (2 * 0.5**2)
    torch.testing.assert_close(attention(rows()), expected[:, None].expand(-1, 2, -1, -1), rtol=1e-5, atol=1e-5)
