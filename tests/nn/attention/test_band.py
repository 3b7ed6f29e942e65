"""Band attention: the two terms, fused and as maps."""

import pytest
import torch

from kinfolk.nn import BandAttention, QuartetAttention, SelfAttention


def rows():
    return torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("tilde", [False, True])
@pytest.mark.parametrize("fusion", ["theta", "add", "mul"])
def test_the_terms_are_fused_as_the_equation_says(fusion, tilde):
    pair, quartet, x = SelfAttention(6, 3).double(), QuartetAttention(size=4).double(), rows()
    band = BandAttention(pair, quartet, fusion, tilde, theta_self=0.5, theta_quartet=3.0).double()
    one, many = pair(x), quartet(x, adjacency=pair(x)) if tilde else quartet(x)
    expected = {"theta": 0.5 * one + 3 * many, "add": one + many, "mul": one * many}[fusion]
    torch.testing.assert_close(band(x), expected)
    torch.testing.assert_close(band(x, rows=1), expected[:, :, :1])
    weights = (0.5, 3.0) if fusion == "theta" else (1.0, 1.0)
    maps = band.maps(x)
    torch.testing.assert_close(maps["self"], (weights[0] * one).softmax(dim=-1))
    torch.testing.assert_close(maps["quartet"], (weights[1] * many).softmax(dim=-1))
    torch.testing.assert_close(maps["band"], expected.softmax(dim=-1))
