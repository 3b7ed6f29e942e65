"""Encoders with merged weights: against the dense form, for any overlap of the sub-graphs, sharpness and k."""

import itertools
import runpy
from pathlib import Path

import pytest
import torch

from kinfolk.nn import inference
from kinfolk.nn.inference import MergedLayers, SingleLayer

forward_all_rows = runpy.run_path(str(Path(__file__).with_name("dense.py")))["forward_all_rows"]
helpers = runpy.run_path(str(Path(__file__).with_name("subgraphs.py")))
K, NODES, PROBES = (helpers[name] for name in ("K", "NODES", "PROBES"))
make, graph, sub_graphs = (helpers[name] for name in ("make", "graph", "sub_graphs"))

OPTIONS = [
    dict(),
    dict(out_dim=8, concat=True, norm=True),
    dict(floor=0.1, concat=True),
    dict(floor=0.0, init="identity"),
    dict(quartet_weights=False, normalize="qk"),
    dict(fusion="add", out_dim=3),
]


def merged_rows(encoder, features, nodes):
    with torch.inference_mode():
        if (single := SingleLayer.of(encoder, nodes.shape[1])) is not None:
            return encoder.head(single.finish(*single.mix(features, nodes)))
        merged = MergedLayers.of(encoder, nodes.shape[1])
        return encoder.head(merged.finish(*merged.mix(features, merged.project(features), nodes)))


def nodes_of(neighbors):
    return torch.cat([torch.arange(len(neighbors))[:, None], neighbors], dim=1)


def assert_merged_is_dense(name, options, layers):
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 1e-5)):
        encoder = make(name, options, dtype, layers=layers)
        for nodes in (K + 3, NODES, 60):  # much overlap, some, hardly any
            features, neighbors, _ = graph(dtype, max(nodes, PROBES))
            neighbors[:, 3] = neighbors[:, 1]  # one neighbour occurs twice
            features[2] = 0
            expected = forward_all_rows(encoder, sub_graphs(features, neighbors)).detach()
            found = merged_rows(encoder, features, nodes_of(neighbors))
            torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", ["band", "quartet"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("new_pairs", [0.0, 1e9], ids=["apart", "shared"])
def test_a_single_layer_is_dense(monkeypatch, name, options, new_pairs):
    monkeypatch.setattr(inference, "NEW_PAIRS", new_pairs)
    assert_merged_is_dense(name, options, layers=1)


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shared_pairs", [0.0, 1e9], ids=["apart", "shared"])
def test_several_layers_are_dense(monkeypatch, layers, options, shared_pairs):
    monkeypatch.setattr(inference, "SHARED_PAIRS", shared_pairs)
    assert_merged_is_dense("band", options, layers)


@pytest.mark.parametrize("name", ["band", "quartet"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_transformer_layer_is_that_of_the_encoder(name, weighted):
    encoder = make(name, dict(base="transformer", hidden=8, quartet_weights=weighted))
    for k in (1, K, 9):
        features, neighbors, _ = graph(k=k)
        expected = encoder(sub_graphs(features, neighbors)).detach()
        torch.testing.assert_close(merged_rows(encoder, features, nodes_of(neighbors)), expected)


@pytest.mark.parametrize("layers", [1, 3])
def test_sharp_attention_is_as_exact(layers):
    encoder = make("band", dict(concat=True, norm=True), torch.float32, layers=layers)
    with torch.no_grad():
        for layer in encoder.layers:
            layer.attention.theta_quartet.fill_(15.0)
            layer.attention.theta_self.fill_(-5.0)
            layer.activation.weight.fill_(-0.3)
    features, neighbors, _ = graph(torch.float32)
    expected = forward_all_rows(encoder, sub_graphs(features, neighbors)).detach()
    torch.testing.assert_close(merged_rows(encoder, features, nodes_of(neighbors)), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("name", "layers"), [("band", 1), ("quartet", 1), ("band", 2)])
def test_any_k_is_served(name, layers):
    encoder = make(name, {}, layers=layers)
    for k in (0, 1, 9):
        features, neighbors, _ = graph(k=k)
        expected = encoder(sub_graphs(features, neighbors)).detach()
        torch.testing.assert_close(merged_rows(encoder, features, nodes_of(neighbors)), expected)


def test_encoders_of_other_forms_are_not_merged():
    others = [(name, {}) for name in ("none", "self", "quartet_self", "band_self", "cosine", "kernel")]
    others += [("band", option) for option in (dict(heads=2), dict(fusion="mul"), dict(normalize="qk"))]
    for (name, options), layers in itertools.product(others, (1, 2)):
        encoder = make(name, options, layers=layers)
        assert SingleLayer.of(encoder, K + 1) is MergedLayers.of(encoder, K + 1) is None
    for name, options in (("quartet", {}), ("band", dict(base="transformer"))):
        assert MergedLayers.of(make(name, options, layers=2), K + 1) is None
    assert SingleLayer.of(make("band", {}, layers=2), K + 1) is MergedLayers.of(make("band", {}), K + 1) is None
