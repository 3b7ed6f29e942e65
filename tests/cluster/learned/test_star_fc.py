"""STAR-FC: batches, intimacy and parsing against slow references."""

import networkx as nx
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.cluster.learned.star_fc import EdgeClassifier, edges_between, node_intimacy, parse
from kinfolk.neighbors import NeighborGraph


def random_edges(n, k, seed):
    rng = np.random.default_rng(seed)
    indices = np.stack([rng.permutation([j for j in range(n) if j != i])[:k] for i in range(n)]).astype(np.int32)
    return indices, -np.sort(-rng.random((n, k)), axis=1).astype(np.float32)


def joined(indices, kept):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(indices)))
    graph.add_edges_from((i, indices[i, a]) for i, a in zip(*np.nonzero(kept), strict=True))
    return graph


def intimacy_of(graph, i, j):
    one, other = {i, *graph[i]}, {j, *graph[j]}
    return max(len(one & other) / len(one), len(one & other) / len(other))


@settings(max_examples=20, deadline=None)
@given(n=st.integers(3, 25), k=st.integers(1, 8), seed=st.integers(0, 99))
def test_intimacy_counts_common_rows_of_the_graph_that_is_left(n, k, seed):
    indices, p = random_edges(n, min(k, n - 1), seed)
    kept = p >= 0.5
    graph, found = joined(indices, kept), node_intimacy(indices, kept)
    for i in range(n):
        for a in range(indices.shape[1]):
            expected = intimacy_of(graph, i, indices[i, a]) if kept[i, a] else -1
            assert abs(found[i, a] - expected) < 1e-6


@settings(max_examples=20, deadline=None)
@given(n=st.integers(3, 25), k=st.integers(1, 8), seed=st.integers(0, 99), tau=st.sampled_from([0.3, 0.6, 0.9]))
def test_parsing_prunes_joins_and_takes_in_who_was_left_alone(n, k, seed, tau):
    indices, p = random_edges(n, min(k, n - 1), seed)
    graph = joined(indices, p >= 0.5)
    parts = nx.Graph()
    parts.add_nodes_from(range(n))
    parts.add_edges_from((i, j) for i, j in graph.edges if intimacy_of(graph, i, j) >= np.float32(tau) - 1e-6)
    alone = {i for i in range(n) if not parts[i]}
    adopted = [(i, indices[i, 0]) for i in alone if p[i, 0] >= 0.5 and indices[i, 0] not in alone]
    parts.add_edges_from(adopted)
    labels = parse(NeighborGraph(indices, p, n), probability=0.5, intimacy=tau - 1e-6)
    clusters = {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)}
    assert clusters == {frozenset(int(i) for i in part) for part in nx.connected_components(parts)}


def test_intimacy_keeps_one_wrong_edge_from_joining_two_identities():
    n = 12
    indices = np.array([[j for j in range(n) if j != i and (j < 6) == (i < 6)] for i in range(n)], dtype=np.int32)
    p = np.full(indices.shape, 0.9, dtype=np.float32)
    indices[0, 4] = 6  # the wrong edge
    edges = NeighborGraph(indices, p, n)
    assert parse(edges, probability=0.5, intimacy=0.0).max() == 0
    np.testing.assert_array_equal(parse(edges, probability=0.5, intimacy=0.5), np.repeat([0, 1], 6))


def test_a_batch_has_all_edges_between_its_rows():
    indices, _ = random_edges(20, 5, 0)
    rows = np.random.default_rng(1).permutation(20)[:9]
    one, other = edges_between(rows, indices)
    found = {(int(rows[a]), int(rows[b])) for a, b in zip(one, other, strict=True)}
    assert found == {(int(i), int(j)) for i in rows for j in indices[i] if j in rows}


def test_an_edge_has_the_same_odds_from_both_ends_and_untrained_the_cosine_decides():
    net = EdgeClassifier(8)
    a, b = torch.nn.functional.normalize(torch.randn(2, 30, 8), dim=-1)
    assert torch.allclose(net(a, b), net(b, a))
    assert torch.allclose(net(a, b), 10 * (a * b).sum(dim=-1) - 10, atol=1e-5)
