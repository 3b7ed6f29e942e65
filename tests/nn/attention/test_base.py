"""Softmax with padding, heads and products that the attentions share."""

import pytest
import torch

import kinfolk as kf
from kinfolk.nn.attention._base import Attention, against, common_heads, fill, masked_softmax, split_heads, through


def test_softmax_over_the_real_columns():
    scores = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True] * 5, [True, True, False, True, False]])
    found = masked_softmax(scores, mask)
    torch.testing.assert_close(found[0], scores[0].softmax(dim=-1))
    torch.testing.assert_close(found[1][..., mask[1]], scores[1][..., mask[1]].softmax(dim=-1))
    assert not found[1][..., ~mask[1]].any()


@pytest.mark.parametrize("groups", [1, 3])
def test_products_with_heads_are_those_of_einsum(groups):
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(2, groups, 4, 5, generator=generator, dtype=torch.float64)
    weight = torch.randn(3, 5, 6, generator=generator, dtype=torch.float64)
    wide = matrix.expand(-1, 3, -1, -1)
    torch.testing.assert_close(through(matrix, weight), torch.einsum("bhrl,hlm->bhrm", wide, weight))
    left = torch.randn(2, 3, 7, 5, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(against(left, matrix), torch.einsum("bhrm,bhlm->bhrl", left, wide))


def test_heads_are_consecutive_columns():
    x = torch.arange(12.0).view(1, 2, 6)
    torch.testing.assert_close(split_heads(x, 3), torch.stack(x.chunk(3, dim=-1), dim=1))


def test_identity_is_cut_to_the_shape_of_each_matrix():
    weight = torch.empty(2, 3, 4)
    fill(weight, "identity")
    torch.testing.assert_close(weight, torch.eye(3, 4).expand(2, 3, 4))


def test_heads_must_be_equal_and_positive():
    with pytest.raises(kf.InputError, match="heads must be a whole number from 1 on"):
        Attention(heads=0)
    with pytest.raises(kf.InputError, match="not 1 and 2"):
        common_heads(Attention(1), Attention(2))
