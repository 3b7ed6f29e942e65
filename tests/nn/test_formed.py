"""Encoders formed for inference: against the dense form, with whatever overlap, sharpness and k."""

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax

from kinfolk.nn import formed as module
from kinfolk.nn.formed import FormedEncoder, blocks, distinct, mix_probes, overlapping_runs

forward_all_rows = runpy.run_path(str(Path(__file__).with_name("dense.py")))["forward_all_rows"]
helpers = runpy.run_path(str(Path(__file__).with_name("subgraphs.py")))
K, NODES, PROBES = (helpers[name] for name in ("K", "NODES", "PROBES"))
make, graph, sub_graphs = (helpers[name] for name in ("make", "graph", "sub_graphs"))

FORMED = [
    dict(),
    dict(out_dim=8, concat=True, norm=True),
    dict(floor=0.1, concat=True),
    dict(floor=0.0, init="identity"),
    dict(quartet_weights=False, normalize="qk"),
    dict(fusion="add", out_dim=3),
]


def formed_rows(encoder, features, nodes):
    with torch.inference_mode():
        formed = FormedEncoder.of(encoder, nodes.shape[1])
        return encoder.head(formed.finish(formed.joined(features, formed.project(features), nodes)))


def nodes_of(neighbors):
    return torch.cat([torch.arange(len(neighbors))[:, None], neighbors], dim=1)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("options", FORMED, ids=str)
@pytest.mark.parametrize("pays", [0.0, 1e9], ids=["apart", "shared"])
def test_formed_is_dense(monkeypatch, layers, options, pays):
    monkeypatch.setattr(module, "PAYS", pays)
    monkeypatch.setattr(module, "JOINED_BELOW", pays)
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 1e-5)):
        encoder = make("band", options, dtype, layers=layers)
        for nodes in (K + 3, NODES, 60):
            features, neighbors, _ = graph(dtype, max(nodes, PROBES))
            neighbors[:, 3] = neighbors[:, 1]  # one comes twice
            features[2] = 0
            expected = forward_all_rows(encoder, sub_graphs(features, neighbors)).detach()
            found = formed_rows(encoder, features, nodes_of(neighbors))
            torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("layers", [1, 3])
def test_formed_weights_that_are_sharp_are_as_exact(layers):
    encoder = make("band", dict(concat=True, norm=True), torch.float32, layers=layers)
    with torch.no_grad():
        for layer in encoder.layers:
            layer.attention.theta_quartet.fill_(15.0)
            layer.attention.theta_self.fill_(-5.0)
            layer.activation.weight.fill_(-0.3)
    features, neighbors, _ = graph(torch.float32)
    expected = forward_all_rows(encoder, sub_graphs(features, neighbors)).detach()
    torch.testing.assert_close(formed_rows(encoder, features, nodes_of(neighbors)), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("layers", [1, 2])
def test_formed_serves_any_k(layers):
    encoder = make("band", {}, layers=layers)
    for k in (0, 1, 9):
        features, neighbors, _ = graph(k=k)
        expected = encoder(sub_graphs(features, neighbors)).detach()
        torch.testing.assert_close(formed_rows(encoder, features, nodes_of(neighbors)), expected)


def test_what_cannot_be_formed_is_known():
    others = [(name, {}) for name in ("none", "self", "quartet", "quartet_self", "band_self", "cosine", "kernel")]
    others += [("band", option) for option in (dict(heads=2), dict(fusion="mul"), dict(normalize="qk"))]
    others += [("band", dict(base="transformer"))]
    for (name, options), layers in itertools.product(others, (1, 2)):
        assert FormedEncoder.of(make(name, options, layers=layers), K + 1) is None


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0), elements=st.integers(0, 2**40)))
def test_every_node_is_there_once_and_found_again(nodes):
    unique, places = distinct(nodes)
    np.testing.assert_array_equal(np.sort(unique), np.unique(nodes))
    np.testing.assert_array_equal(unique[places], nodes)


def test_the_parts_of_sub_graphs_are_those_of_indexing():
    generator = np.random.default_rng(0)
    tests, places = generator.normal(size=(9, 9)), generator.integers(0, 9, (4, 5))
    np.testing.assert_array_equal(blocks(tests, places), np.stack([tests[np.ix_(some, some)] for some in places]))


def test_probes_are_mixed_by_the_equation():
    generator = np.random.default_rng(0)
    places = generator.integers(0, 9, (4, 5))
    places[0] = [1, 5, 1, 2, 8]  # one comes twice
    tests, x, asked, middle = (generator.normal(size=shape) for shape in ((9, 9), (9, 3), (4, 3), (5, 5)))
    for p, some in enumerate(places):
        adjacency = tests[np.ix_(some, some)]
        adjacency /= np.linalg.norm(adjacency, axis=1, keepdims=True)
        expected = softmax(asked[p] @ x[some].T + adjacency[0] @ middle @ adjacency.T) @ x[some]
        np.testing.assert_allclose(mix_probes(tests, x, places, asked, middle)[p], expected, rtol=1e-12)


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 30)), st.floats(0, 4))
def test_runs_hold_every_sub_graph_and_few_pairs(nodes, most):
    runs = overlapping_runs(nodes, most)
    assert runs.sum() == len(nodes) and runs.min() > 0
    for run, size in zip(np.split(nodes, np.cumsum(runs)[:-1]), runs, strict=True):
        own = nodes.shape[1] ** 2
        assert len(np.unique(run)) ** 2 <= own + most * own * (size - 1)
