"""Overlapping sub-graphs encoded as one: against the dense form, with whatever overlap, padding and order."""

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kinfolk.nn import Encoder, EncoderConfig
from kinfolk.nn import shared as module
from kinfolk.nn.shared import FormedEncoder, SharedBatch, blocks, distinct, seen_alike, serves, shared_rows

forward_all_rows = runpy.run_path(str(Path(__file__).with_name("dense.py")))["forward_all_rows"]

DIM, K, NODES, PROBES = 6, 5, 14, 7
OPTIONS = [
    dict(),
    dict(out_dim=8, concat=True, norm=True),
    dict(floor=0.1),
    dict(floor=0.0, init="identity"),
    dict(quartet_weights=False, normalize="qk"),
    dict(fusion="mul"),
    dict(fusion="add", out_dim=3),
]
each = pytest.mark.parametrize(("name", "options"), list(itertools.product(("quartet", "band"), OPTIONS)), ids=str)


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


def shared(encoder, features, neighbors, mask=None, probes=None):
    probes = features[: len(neighbors)] if probes is None else probes
    return encoder.head(shared_rows(encoder, SharedBatch.of(probes, features, neighbors, mask)))


def sub_graphs(features, neighbors):
    return torch.cat([features[: len(neighbors), None], features[neighbors]], dim=1)


@each
@pytest.mark.parametrize("block", [1, 4, 128])
def test_shared_is_dense(monkeypatch, name, options, block):
    monkeypatch.setattr(module, "BLOCK", block)
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        encoder = make(name, options, dtype)
        assert serves(encoder)
        for nodes in (K + 3, NODES, 60):  # much overlap, some, hardly any
            features, neighbors, mask = graph(dtype, max(nodes, PROBES))
            for used in (None, mask):
                expected = forward_all_rows(encoder, sub_graphs(features, neighbors), used)
                found = shared(encoder, features, neighbors, used)
                torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", ["quartet", "band"])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("base", ["gcn", "transformer"])
def test_shared_is_one_by_one_for_all_heads_and_bases_and_any_k(name, heads, base):
    for weighted, k in itertools.product((True, False), (1, K, 9)):
        encoder = make(name, dict(quartet_weights=weighted, base=base, heads=heads, hidden=8))
        features, neighbors, mask = graph(k=k)
        for used in (None, mask):
            expected = encoder(sub_graphs(features, neighbors), used)
            torch.testing.assert_close(shared(encoder, features, neighbors, used), expected)


@each
def test_neither_the_batch_nor_its_order_matters(name, options):
    encoder = make(name, options)
    features, neighbors, _ = graph()
    together = shared(encoder, features, neighbors)
    order = torch.randperm(PROBES, generator=torch.Generator().manual_seed(1))
    mixed = shared(encoder, features, neighbors[order], probes=features[order])
    torch.testing.assert_close(mixed, together[order], atol=1e-9, rtol=0)
    alone = [shared(encoder, features, neighbors[[i]], probes=features[[i]]) for i in range(PROBES)]
    torch.testing.assert_close(torch.cat(alone), together, atol=1e-9, rtol=0)


def test_a_neighbour_that_comes_twice_counts_twice():
    encoder = make("band", {})
    features, neighbors, mask = graph()
    neighbors[:, 3] = neighbors[:, 1]
    for used in (None, mask):
        expected = encoder(sub_graphs(features, neighbors), used)
        torch.testing.assert_close(shared(encoder, features, neighbors, used), expected)


def test_probes_need_not_be_among_the_features_and_may_be_zero():
    encoder = make("band", {})
    features, neighbors, _ = graph()
    asking = torch.randn(PROBES, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    asking[2] = 0
    expected = encoder(torch.cat([asking[:, None], features[neighbors]], dim=1))
    torch.testing.assert_close(shared(encoder, features, neighbors, probes=asking), expected)


def test_what_cannot_be_shared_is_known():
    served = {name: serves(make(name, {})) for name in ("none", "self", "cosine", "kernel", "quartet", "band")}
    assert [name for name, does in served.items() if does] == ["quartet", "band"]
    assert not serves(make("band_self", {}))
    assert not serves(make("quartet_self", {}))
    assert not serves(make("band", dict(normalize="qk")))
    assert not serves(make("band", dict(layers=2)))


def test_it_pays_where_the_sub_graphs_overlap():
    features, _, _ = graph(nodes=60)
    same = torch.arange(10, 10 + K).expand(PROBES, K)
    apart = torch.arange(10, 10 + PROBES * K).view(PROBES, K)
    assert SharedBatch.where_it_pays(features[:PROBES], features, apart) is None
    batch = SharedBatch.where_it_pays(features[:PROBES], features, same)
    assert len(batch.x) == PROBES + K
    torch.testing.assert_close(batch.x[batch.places], sub_graphs(features, same))


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
    parts = np.stack([tests[np.ix_(some, some)] for some in places])
    np.testing.assert_array_equal(blocks(tests, places), parts)
    asked = generator.normal(size=(4, 5))
    expected = np.einsum("pl,pjl->pj", asked, parts) / np.linalg.norm(parts, axis=-1)
    np.testing.assert_allclose(seen_alike(tests, places, asked), expected, rtol=1e-12)
