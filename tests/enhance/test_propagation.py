"""Attention over the whole graph and its hops, beside loops in float64 and dense matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.enhance.propagation import (
    Propagation,
    after_hops,
    after_hops_among,
    attention_weights,
    propagate,
    training_free_weights,
    weigh,
)
from kinfolk.features import unit_rows
from kinfolk.kinship import KinshipNetwork, edge_tests
from kinfolk.neighbors import NeighborGraph

SETTINGS = [
    Propagation("none"),
    Propagation("self", theta_s=7.0),
    Propagation("quartet", theta_q=0.8, theta_s=3.0),  # a quartet has no theta_s, whatever it is
    Propagation("band", theta_q=1.5, theta_s=2.0, one_way=0.2),
    Propagation(),
]


@pytest.fixture(scope="module")
def net() -> KinshipNetwork:
    return KinshipNetwork.shipped()


@pytest.fixture(scope="module", name="X")
def rows() -> np.ndarray:
    return unit_rows(kf.datasets.celeb_like(6, dim=16).features[:150:2])


@pytest.fixture(scope="module")
def graph(X) -> NeighborGraph:
    return kf.knn_graph(X, k=30)


@pytest.fixture(scope="module")
def asking() -> np.ndarray:
    return unit_rows(kf.datasets.celeb_like(6, dim=16).features[1:60:3])


def softmax_with_own(scores: list[float]) -> list[float]:
    exponentials = [1.0, *(math.exp(s) for s in scores)]
    return [e / sum(exponentials) for e in exponentials]


def slow_rows(
    settings: Propagation, net: KinshipNetwork, g: NeighborGraph, k: int, queries: NeighborGraph | None
) -> np.ndarray:
    asking = g if queries is None else queries
    if settings.attention in ("none", "self"):
        theta = settings.theta_s if settings.attention == "self" else 0.0
        cosines = asking.similarities[:, :k].astype(float)
        return np.array([softmax_with_own([theta * (c - 1) for c in row]) for row in cosines])
    widest = min(2 * max(1, round(1.2 * k)), g.k, asking.k)
    total = np.zeros((len(asking), 1 + widest))
    shares = (0.25, 0.6, 1.2) if settings.nearest and k <= 32 else (0.6, 1.2)
    for share in shares:
        found = slow_rows_at(settings, net, g, min(g.k, max(1, round(share * k))), queries)
        total[:, : found.shape[1]] += found / len(shares)
    return total


def slow_rows_at(
    settings: Propagation, net: KinshipNetwork, g: NeighborGraph, scale: int, queries: NeighborGraph | None
) -> np.ndarray:
    asking = g if queries is None else queries
    weights = []
    tests = edge_tests(g, scale, queries=queries)
    log_p = net.log_probability(tests.values).astype(float)
    for i, (log_p_of_row, both_ways) in enumerate(zip(log_p, tests.reciprocal, strict=True)):
        scores = []
        for a, value in enumerate(log_p_of_row):
            score = settings.theta_q * value + (0.0 if both_ways[a] else math.log(settings.one_way))
            if settings.attention == "band":
                score += settings.theta_s * (float(asking.similarities[i, a]) - 1)
            scores.append(score)
        weights.append(softmax_with_own(scores))
    return np.array(weights)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.attention}-{s.theta_s:g}")
@pytest.mark.parametrize("k", [1, 7, 20, 30])
@pytest.mark.parametrize("form", ["rows", "queries"])
def test_attention_equals_a_loop_and_sums_to_one(net, X, graph, asking, settings, k, form):
    queries = kf.knn_graph(X, k=31, queries=asking) if form == "queries" else None
    A = attention_weights(settings, net, graph, k, queries)
    expected = slow_rows(settings, net, graph, k, queries)
    assert A.dtype == np.float32
    assert A.shape == (
        len(asking if queries else X),
        1 + (k if settings.attention in ("none", "self") else min(2 * max(1, round(1.2 * k)), 30)),
    )
    np.testing.assert_allclose(A, expected, atol=1e-6)
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=1e-6)
    assert (A > 0).all()


def test_edges_that_go_one_way_count_less():
    log_p, cosines = np.zeros((1, 2), dtype=np.float32), np.ones((1, 2), dtype=np.float32)
    found = weigh(Propagation(one_way=0.25), log_p, np.array([[True, False]]), cosines)
    np.testing.assert_allclose(found, [[1 / 2.25, 1 / 2.25, 0.25 / 2.25]], atol=1e-6)


def test_attention_does_not_change_what_it_is_given():
    log_p, cosines = np.full((2, 3), -0.5, dtype=np.float32), np.full((2, 3), 0.8, dtype=np.float32)
    weigh(Propagation(theta_s=2.0), log_p, np.ones((2, 3), dtype=bool), cosines)
    assert (log_p == -0.5).all()
    assert (cosines == np.float32(0.8)).all()


def dense(weights: np.ndarray, indices: np.ndarray, n: int) -> np.ndarray:
    """The (n, n) matrix of weights, the own ones on the diagonal."""
    A = np.diag(weights[:, 0].astype(float))
    for i, row in enumerate(indices[:, : weights.shape[1] - 1]):
        A[i, row] += weights[i, 1:]
    assert A.shape == (n, n)
    return A


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.attention}-{s.theta_s:g}")
def test_hops_are_products_with_a_dense_matrix(net, X, graph, settings):
    weights = attention_weights(settings, net, graph, 10)
    A = dense(weights, graph.indices, len(X))
    Z = X
    for hop in range(1, 4):
        Z = propagate(weights, graph.indices, Z, Z)
        # weights below a millionth are left out, at most twenty of them a row and hop
        np.testing.assert_allclose(Z, np.linalg.matrix_power(A, hop) @ X, atol=2e-5 * hop)


def test_a_hop_of_queries_mixes_their_own_rows_with_the_reference(net, X, graph, asking):
    queries = kf.knn_graph(X, k=30, queries=asking)
    weights = attention_weights(Propagation(), net, graph, 10, queries)
    expected = np.array(
        [
            w[0] * own + sum(w[a + 1] * X[j].astype(float) for a, j in enumerate(row[:24]))
            for w, own, row in zip(weights.astype(float), asking, queries.indices, strict=True)
        ]
    )
    np.testing.assert_allclose(propagate(weights, queries.indices, X, asking), expected, atol=2e-5)


def slow_training_free(
    probes: np.ndarray, others: np.ndarray, g: NeighborGraph, asking: NeighborGraph, k: int
) -> np.ndarray:
    """One sub-graph at a time: cosines clamped at 0, rows of length one, then a test of the probe with each row."""
    result = np.zeros((len(asking), k + 1))
    for i, probe in enumerate(probes.astype(float)):
        nodes = [probe, *others[asking.indices[i, :k]].astype(float)]
        tests = np.array([[max(0.0, float(a @ b)) for b in nodes] for a in nodes])
        tests /= np.linalg.norm(tests, axis=1, keepdims=True)
        exponentials = [1.0]
        for a, j in enumerate(asking.indices[i, :k], start=1):
            reciprocal = asking.similarities[i, a - 1] >= g.similarities[j, k - 1]
            exponentials.append(math.exp(15 * (float(tests[0] @ tests[a]) - 1)) if reciprocal else 0.0)
        result[i] = np.array(exponentials) / sum(exponentials)
    return result


@pytest.mark.parametrize("k", [1, 6, 30])
def test_the_training_free_form_equals_a_loop(X, graph, asking, k):
    A = training_free_weights(X, graph, k)
    np.testing.assert_allclose(A, slow_training_free(X, X, graph, graph, k), atol=2e-6)
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=1e-6)
    queries = kf.knn_graph(X, k=30, queries=asking)
    A = training_free_weights(asking, graph, k, queries, X)
    np.testing.assert_allclose(A, slow_training_free(asking, X, graph, queries, k), atol=2e-6)


def test_the_training_free_form_only_looks_at_reciprocal_neighbours(X, graph):
    A = training_free_weights(X, graph, 6)
    listed = np.array([[i in graph.indices[j, :6] for j in graph.indices[i, :6]] for i in range(len(X))])
    np.testing.assert_array_equal(A[:, 1:] > 0, listed)
    assert 0 < listed.sum() < listed.size


def test_what_cannot_be_is_refused():
    with pytest.raises(kf.InputError, match="attention must be one of"):
        Propagation("cosine")
    with pytest.raises(kf.InputError, match="hops must be a whole number"):
        Propagation(hops=0)


def test_hops_among_known_rows_against_matrices():
    rng = np.random.default_rng(0)
    known, X = rng.standard_normal((20, 5)).astype(np.float32), rng.standard_normal((3, 5)).astype(np.float32)
    near, theirs = rng.integers(0, 20, (3, 4)).astype(np.int32), rng.integers(0, 20, (20, 4)).astype(np.int32)
    weights, their_weights = rng.random((3, 5), dtype=np.float32), rng.random((20, 5), dtype=np.float32)
    A = np.zeros((23, 23))
    for rows, w, offset in ((near, weights, 20), (theirs, their_weights, 0)):
        for i, row in enumerate(rows):
            A[offset + i, offset + i] += w[i, 0]
            np.add.at(A[offset + i], row, w[i, 1:])
    expected = (np.linalg.matrix_power(A, 3) @ np.concatenate([known, X]))[20:]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = after_hops_among(3, weights, near, X, their_weights, theirs, known)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    alone = after_hops(3, their_weights, theirs, known)
    np.testing.assert_allclose(alone, (np.linalg.matrix_power(A, 3) @ np.concatenate([known, X]))[:20], rtol=1e-4)
