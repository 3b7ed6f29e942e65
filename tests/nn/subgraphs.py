"""Small random encoders and sub-graphs, for the tests of what encodes them quickly."""

import torch

from kinfolk.nn import Encoder, EncoderConfig

DIM, K, NODES, PROBES = 6, 5, 14, 7


def make(name, options, dtype=torch.float64, **more):
    torch.default_generator.manual_seed(3)
    return Encoder(EncoderConfig(DIM, K, name, width=4, **options, **more)).to(dtype)


def graph(dtype=torch.float64, nodes=NODES, k=K):
    """Features, the neighbours of the first PROBES of them, and a mask with the probe always there."""
    generator = torch.Generator().manual_seed(2)
    features = torch.randn(nodes, DIM, generator=generator, dtype=torch.float64).to(dtype)
    others = [[j for j in torch.randperm(nodes, generator=generator).tolist() if j != i][:k] for i in range(PROBES)]
    mask = torch.arange(k + 1) < torch.randint(1, k + 2, (PROBES, 1), generator=generator)
    return features, torch.tensor(others, dtype=torch.int64), mask


def sub_graphs(features, neighbors):
    return torch.cat([features[: len(neighbors), None], features[neighbors]], dim=1)
