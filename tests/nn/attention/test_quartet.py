"""Quartet attention: the paper's form, other numbers of rows, other matrices than the cosines."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call

from kinfolk.nn import QuartetAttention, adjacency, rank_map

DIM, SIZE = 5, 6


def batch(b=3, size=SIZE):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(b, size, DIM, generator=generator, dtype=torch.float64)
    mask = torch.rand(b, size, generator=generator) < 0.6
    mask[:, 0] = True
    return x, mask


def test_gradients_where_another_number_of_rows_is_served():
    attention = QuartetAttention(SIZE, heads=2).double()
    x, _ = batch(2, SIZE + 3)
    weights = [p.detach().clone().requires_grad_() for p in (attention.query, attention.key)]
    assert torch.autograd.gradcheck(
        lambda q, k: functional_call(attention, {"query": q, "key": k}, (x,)), weights, fast_mode=True
    )


def test_with_as_many_rows_as_weights_the_quartet_is_the_papers_form():
    attention = QuartetAttention(SIZE).double()
    x, _ = batch()
    tests = adjacency(x)
    expected = (tests @ attention.query[0]) @ (tests @ attention.key[0]).transpose(1, 2)
    torch.testing.assert_close(attention(x)[:, 0], expected, atol=1e-13, rtol=0)


@given(st.integers(2, 12), st.integers(1, 25))
@settings(deadline=None, max_examples=60)
def test_weights_keep_their_meaning_for_another_number_of_neighbours(size, served):
    ranks = rank_map(size, served)
    assert ranks.shape == (served, size)
    identity = QuartetAttention(size, init="identity").double()
    x, _ = batch(1, served)
    torch.testing.assert_close(identity(x), QuartetAttention(size, weights="identity").double()(x))
    torch.testing.assert_close(rank_map(size, size), torch.eye(size, dtype=torch.float64))
    if served > 1:
        # a deviation that is the same for all neighbours, asked about L2-normalised even rows
        level = torch.full((size - 1, size - 1), 0.7, dtype=torch.float64)
        carried = ranks[1:, 1:] @ level @ ranks[1:, 1:].T
        assert carried.sum().item() / (served - 1) == pytest.approx(0.7 * (size - 1))
        assert torch.equal(ranks[0], torch.eye(size, dtype=torch.float64)[0])
        assert not ranks[1:, 0].any()


def test_another_matrix_takes_the_place_of_the_cosines():
    x, mask = batch()
    attention = QuartetAttention(SIZE, heads=2).double()
    expected = attention(x, mask)
    unit = x / x.norm(dim=-1, keepdim=True)
    cosine = unit @ unit.transpose(1, 2)
    torch.testing.assert_close(attention(x, mask, adjacency=cosine), expected)
    torch.testing.assert_close(attention(x, mask, adjacency=cosine[:, None].expand(-1, 2, -1, -1)), expected)
