"""Cosines of a sub-graph and the adjacency computed from them."""

import pytest
import torch

from kinfolk.nn import adjacency, cosines
from kinfolk.nn.attention._cosines import adjacency_of, gram, only_real

DIM, SIZE = 5, 6


def batch(b=3, size=SIZE):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(b, size, DIM, generator=generator, dtype=torch.float64)
    mask = torch.rand(b, size, generator=generator) < 0.6
    mask[:, 0] = True
    return x, mask


def test_rows_of_the_adjacency_have_length_one_and_padding_has_none():
    x, mask = batch()
    x[0, 0] = 0
    found = adjacency(x, mask, floor=0.0)
    assert (found >= 0).all()
    lengths = mask.double()
    lengths[0, 0] = 0  # a vector of zeros is similar to nothing
    torch.testing.assert_close(found.norm(dim=-1), lengths)
    torch.testing.assert_close(found.norm(dim=-2) > 0, lengths > 0)


def test_cosines_are_those_of_torch_with_a_floor_and_padding():
    x, mask = batch()
    expected = torch.nn.functional.cosine_similarity(x[:, :, None], x[:, None], dim=-1)
    torch.testing.assert_close(cosines(x), expected)
    real = (mask[:, :, None] & mask[:, None]).double()
    torch.testing.assert_close(cosines(x, mask, floor=0.1), expected.clamp(min=0.1) * real)
    torch.testing.assert_close(only_real(expected, mask), expected * real)


@pytest.mark.parametrize("floor", [None, 0.0, 0.2])
def test_the_form_without_gradients_is_the_same(floor):
    x, _ = batch()
    torch.testing.assert_close(gram(x), x @ x.mT)
    torch.testing.assert_close(adjacency_of(gram(x), floor), adjacency(x, floor=floor))
