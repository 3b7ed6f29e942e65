"""Overlapping sub-graphs encoded as one: against the dense form, with whatever overlap, padding and order."""

import itertools
import runpy
from pathlib import Path

import pytest
import torch

from kinfolk.nn import shared as module
from kinfolk.nn.shared import SharedBatch, serves, shared_rows

forward_all_rows = runpy.run_path(str(Path(__file__).with_name("dense.py")))["forward_all_rows"]
helpers = runpy.run_path(str(Path(__file__).with_name("subgraphs.py")))
DIM, K, NODES, PROBES = (helpers[name] for name in ("DIM", "K", "NODES", "PROBES"))
make, graph, sub_graphs = (helpers[name] for name in ("make", "graph", "sub_graphs"))

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


def shared(encoder, features, neighbors, mask=None, probes=None):
    probes = features[: len(neighbors)] if probes is None else probes
    return encoder.head(shared_rows(encoder, SharedBatch.of(probes, features, neighbors, mask)))


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
