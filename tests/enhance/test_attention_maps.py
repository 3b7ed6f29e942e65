"""The attention of a fitted enhancer against what it makes of the rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import kinfolk as kf
from kinfolk._core.errors import InputError
from kinfolk.enhance import attention_maps


@pytest.fixture(scope="module")
def parts():
    fs = replace(kf.datasets.person_like(16, dim=16), cameras=None)
    return fs.part("train"), fs.part("test")


@pytest.fixture(scope="module")
def band(parts):
    """An encoder whose weights are far from where they start, as after a long training."""
    enhancer = kf.GraphEnhancer(k=7, model="subgraph").fit(parts[0])
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in enhancer.encoder_.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return enhancer


def test_the_band_applied_to_a_probes_subgraph_is_its_enhanced_row(parts, band):
    _, test = parts
    probes = [5, 0, 33]
    maps = attention_maps(band, test, probes)
    rows, neighbors = band.subgraphs(test)
    Z = band.transform(test)
    for a, probe in enumerate(probes):
        assert maps.nodes[a].tolist() == [probe, *neighbors[probe]]
        mixed = maps.weights["band"][a, 0] @ rows[maps.nodes[a]] @ band.encoder_.layers[0].weight.detach().numpy()
        np.testing.assert_allclose(mixed / np.linalg.norm(mixed), Z[probe], atol=1e-5)


def test_the_subgraphs_are_the_nearest_of_the_centred_rows(parts, band):
    train, test = parts
    rows, neighbors = band.subgraphs(test)
    unit = test.features / np.linalg.norm(test.features, axis=1, keepdims=True)
    mean = (train.features / np.linalg.norm(train.features, axis=1, keepdims=True)).mean(axis=0)
    centred = (unit - mean) / np.linalg.norm(unit - mean, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, centred, atol=1e-5)
    cosines = centred @ centred.T
    np.fill_diagonal(cosines, -2)
    nearest = -np.sort(-cosines, axis=1)[:, :7]
    np.testing.assert_allclose(np.take_along_axis(cosines, neighbors.astype(int), axis=1), nearest, atol=1e-5)
    maps = attention_maps(band, test, [3])
    np.testing.assert_allclose(maps.cosines[0], centred[maps.nodes[0]] @ centred[maps.nodes[0]].T, atol=1e-5)


def test_rows_sum_to_one_whatever_the_heads(parts):
    _, test = parts
    enhancer = kf.GraphEnhancer(k=4, model="subgraph", heads=2, layers=2).fit(test)
    maps = attention_maps(enhancer, test, np.arange(6))
    assert list(maps.weights) == ["self", "quartet", "band"]
    for weights in maps.weights.values():
        assert weights.shape == (6, 5, 5)
        np.testing.assert_allclose(weights.sum(axis=2), 1, atol=1e-5)


def test_an_enhancer_without_an_encoder_is_refused(parts):
    _, test = parts
    with pytest.raises(InputError, match='model="subgraph"'):
        attention_maps(kf.GraphEnhancer(k=5).fit(test), test, [0])
