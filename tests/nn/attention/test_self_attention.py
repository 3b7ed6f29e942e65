"""Self attention: every order of its products gives the scores of the equation."""

import itertools

import pytest
import torch

import kinfolk as kf
from kinfolk.nn import SelfAttention


def rows():
    return torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(("width", "heads"), [(2, 1), (2, 2), (64, 1), (64, 2)])
def test_scores_are_those_of_the_equation(width, heads):
    attention, x = SelfAttention(6, width, heads).double(), rows()
    pairs = zip(attention.query.chunk(heads, dim=1), attention.key.chunk(heads, dim=1), strict=True)
    expected = torch.stack([(x @ q) @ (x @ k).mT / (width / heads) ** 0.5 for q, k in pairs], dim=1)
    for few, known in itertools.product((None, 1), (None, attention.project(x))):
        torch.testing.assert_close(attention(x, None, few, known), expected[:, :, :few])


def test_wide_queries_are_projected_merged_with_the_keys():
    assert list(SelfAttention(6, 64).double().project(rows())) == ["merged_query"]
    assert list(SelfAttention(6, 2).double().project(rows())) == ["query", "key"]


def test_a_width_that_the_heads_do_not_divide_is_refused():
    with pytest.raises(kf.InputError, match="cannot be split over 2 heads"):
        SelfAttention(6, 5, heads=2)
