"""The network that is trained here and the one that the package evaluates: the same tensors, the same numbers."""

import numpy as np
import pytest
import torch
from research.kinship_training import (
    LabelledEdges,
    TrainableKinship,
    kinship_loss,
    labelled_edges,
    standardise,
    train,
    training_set,
)
from safetensors.numpy import load_file
from safetensors.torch import save_file

import kinfolk as kf
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.network import SHIPPED


@pytest.fixture(scope="module")
def celeb():
    return kf.datasets.celeb_like(12, dim=24)


@pytest.fixture(scope="module")
def edges(celeb):
    return labelled_edges(kf.knn_graph(celeb, k=40), celeb.labels, 20)


@pytest.fixture
def shipped():
    net = TrainableKinship()
    net.load_state_dict({name: torch.from_numpy(values) for name, values in load_file(SHIPPED).items()})
    return net


def log_probability(net, tests):
    with torch.inference_mode():
        return torch.nn.functional.logsigmoid(net(torch.from_numpy(tests))).numpy()


@pytest.mark.parametrize("spread", [1.0, 30.0])  # 30: far beyond the clipped range
def test_the_shipped_weights_give_the_same_probabilities_in_torch_and_in_the_package(shipped, spread):
    tests = spread * np.random.default_rng(0).standard_normal((7, 11, 13)).astype(np.float32)
    expected = log_probability(shipped, tests)
    np.testing.assert_allclose(KinshipNetwork.shipped().log_probability(tests), expected, rtol=1e-4, atol=1e-5)


def test_a_trained_network_is_read_by_the_package(edges, tmp_path):
    net = train([edges], steps=3)
    save_file(net.state_dict(), tmp_path / "net.safetensors")
    read = KinshipNetwork(load_file(tmp_path / "net.safetensors"))
    tests = edges.tests[:5].astype(np.float32)
    np.testing.assert_allclose(read.log_probability(tests), log_probability(net, tests), rtol=1e-4, atol=1e-5)


def test_edges_have_the_truth_of_their_labels(celeb):
    g = kf.knn_graph(celeb, k=40)
    rows = np.array([5, 90, 3])
    some = labelled_edges(g, celeb.labels, 20, rows)
    truth = [[celeb.labels[j] == celeb.labels[i] for j in g.indices[i]] for i in rows]
    np.testing.assert_array_equal(some.same, truth)
    np.testing.assert_array_equal(some.tests, labelled_edges(g, celeb.labels, 20).tests[rows])


def test_standardised_tests_have_mean_zero(edges):
    net = TrainableKinship()
    standardise(net, [edges])
    scaled = (torch.from_numpy(edges.tests.astype(np.float32).reshape(-1, 13)) - net.mean) / net.spread
    np.testing.assert_allclose(scaled.mean(dim=0), 0, atol=0.1)


def test_the_loss_is_the_cross_entropy_of_the_edges(shipped):
    tests = np.random.default_rng(0).standard_normal((3, 4, 13)).astype(np.float16)
    same = np.arange(12).reshape(3, 4) % 3 == 0
    p = np.exp(log_probability(shipped, tests.astype(np.float32)))
    expected = -np.mean(np.where(same, np.log(p), np.log(1 - p)))
    loss = kinship_loss(shipped, [LabelledEdges(tests, same)], np.random.default_rng(0))
    assert loss.item() == pytest.approx(expected, rel=1e-3)


def test_training_lowers_the_loss(edges):
    def loss(net):
        return kinship_loss(net, [edges], np.random.default_rng(9)).item()

    assert loss(train([edges], steps=40)) < 0.8 * loss(train([edges], steps=1))


def test_a_training_set_has_true_and_noisy_edges_and_bad_ones_are_left_out():
    found = {seed: training_set(seed) for seed in range(1, 7)}
    kept = [edges for edges in found.values() if edges is not None]
    assert kept
    for edges in kept:
        assert edges.tests.shape == (*edges.same.shape, 13) and 0.05 < edges.same.mean() < 0.99
