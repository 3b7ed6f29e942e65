"""The tilde form: quartet attention on the scores of self attention."""

import torch
from torch.nn.functional import normalize

from kinfolk.nn import QuartetAttention, SelfAttention, TildeQuartet


def rows():
    return torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_scores_are_those_of_the_equation():
    pair, quartet, x = SelfAttention(6, 3).double(), QuartetAttention(size=4).double(), rows()
    scores = normalize(pair(x)[:, 0], dim=-1)
    expected = (scores @ quartet.query[0]) @ (scores @ quartet.key[0]).mT
    torch.testing.assert_close(TildeQuartet(pair, quartet)(x)[:, 0], expected)
