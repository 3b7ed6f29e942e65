"""Every choice of k."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.kinship.choose_k import (
    CANDIDATES,
    candidate_ks,
    choose_k,
    k_after_training,
    k_for_features,
    k_for_labelled,
    k_for_ranking,
    mean_class_size,
    neighbors_to_choose,
)

module = import_module("kinfolk.kinship.choose_k")  # the package has a function of this name


def test_neighbourhoods_are_most_closed_at_the_size_of_a_class():
    rows = np.eye(6).repeat(21, axis=0) + 0.1 * np.random.default_rng(0).random((126, 6))
    assert choose_k(kf.knn_graph(rows, k=60)) == 20
    with pytest.raises(kf.InputError, match="at least 5 neighbours"):
        choose_k(kf.knn_graph(rows, k=3))


def test_candidates_leave_half_of_the_rows_outside():
    assert candidate_ks(12) == [3]
    assert candidate_ks(10**6) == list(CANDIDATES)
    for n in range(2, 200):
        assert all(4 * k <= n for k in candidate_ks(n)) or candidate_ks(n) == [max(1, min(3, (n - 1) // 2))]
        assert 1 <= neighbors_to_choose(n) <= n - 1


@pytest.mark.parametrize("size", [8, 20, 60])
@pytest.mark.parametrize("seed", [0, 1])
def test_k_follows_the_size_of_the_classes(net, clouds, size, seed):
    X = clouds(60, size, seed)
    k = k_for_features(net, kf.knn_graph(X, k=neighbors_to_choose(len(X))))
    assert size / 2 <= k <= 2 * size


def test_few_rows_have_a_small_k_however_large_their_classes_are(net, clouds):
    X = clouds(10, 40)
    assert k_for_features(net, kf.knn_graph(X, k=neighbors_to_choose(len(X)))) == 10


def test_sets_that_are_too_small_for_the_candidates_have_a_k_all_the_same(net, clouds):
    for n in range(2, 14):
        g = kf.knn_graph(clouds(1, n), k=n - 1)
        assert 1 <= k_for_features(net, g) <= min(2, g.k)
        assert 1 <= k_for_ranking(net, g) <= max(1, n - 1)
    assert k_for_features(net, kf.knn_graph(clouds(5, 40), k=1)) == 1
    assert k_for_features(net, kf.knn_graph(clouds(5, 40), k=2)) <= 2


def graph_of(n: int, k: int) -> kf.NeighborGraph:
    """Return a graph of which only the size is read."""
    indices = np.broadcast_to(np.arange(1, k + 1, dtype=np.int32), (n, k))
    return kf.NeighborGraph(indices, np.broadcast_to(np.float32(1), indices.shape), n)


def of_counts(monkeypatch, count, n: int, k: int) -> tuple[int, list[int]]:
    """Return the k that is chosen where count(k) is the kin count, and the k that were looked at."""
    seen = []

    def counts(_net, _g, ks, _seed):
        seen.extend(ks)
        return np.array([count(k) for k in ks], dtype=float)

    monkeypatch.setattr(module, "kin_counts", counts)
    return k_for_features(None, graph_of(n, k)), seen


@pytest.mark.parametrize(
    ("counts", "k"),
    [
        ([1.5, 1.4, 1.3, 1.2], 24),  # always full: the largest
        ([1.5, 1.5, 1.18, 0.72], 17),  # half-way between the two on a scale of factors
        ([1.5, 1.5, 0.95, 0.1], 12),
        ([1.4, 0.9, 1.0, 0.5], 13),  # the last crossing: fuller again counts
        ([1.4, 0.6, 0.5, 0.96], 4),  # beyond a valley are families
        ([1.4, 1.3, 0.99, 1.4], 12),
        ([1.2, 1.15, 1.0, 1.2], 24),  # not deep enough
        ([0.9, 0.9, 0.9, 0.87], 24),  # never full: 0.95 of the most there is
        ([0.9, 0.94, 0.9, 0.7], 12),
        ([0.5, 0.8, 0.94, 0.94 * 0.9], 17),
        ([0.89, 0.88, 0.89, 0.89], 2),  # nothing is sure
        ([0.3, 0.2, 0.1, 0.0], 2),
    ],
)
def test_k_for_features_is_where_the_count_falls_through_the_level(monkeypatch, counts, k):
    ks = [2, 6, 12, 24]
    monkeypatch.setattr(module, "candidate_ks", lambda _: ks[1:])
    assert of_counts(monkeypatch, dict(zip(ks, counts, strict=True)).get, n=2000, k=600)[0] == k


@pytest.mark.parametrize(
    ("n", "most", "looked_at"),
    [(60, 2, [2]), (159, 3, [2, 3]), (400, 10, [2, 3, 4, 6, 8, 12]), (480, 12, [2, 3, 4, 6, 8, 12])],
)
def test_k_beyond_a_40th_of_the_rows_are_not_looked_at(monkeypatch, n, most, looked_at):
    assert of_counts(monkeypatch, lambda _: 1.5, n, n - 1) == (most, looked_at)
    # a large class far out changes nothing
    assert of_counts(monkeypatch, lambda k: 1.5 if k > 12 else 0.5, n, n - 1) == (2, looked_at)


@pytest.mark.parametrize(("neighbors", "k"), [(1, 1), (2, 2), (3, 2), (5, 2), (6, 3), (30, 12), (48, 24), (600, 120)])
def test_only_k_that_the_graph_has_neighbours_for_are_looked_at(monkeypatch, neighbors, k):
    found, looked_at = of_counts(monkeypatch, lambda _: 1.5, 10**5, neighbors)
    assert found == k == looked_at[-1]
    assert of_counts(monkeypatch, lambda _: 0.1, 10**5, neighbors)[0] == min(2, neighbors)


@given(st.integers(2, 10**4), st.integers(1, 600), st.lists(st.floats(0, 2), min_size=14, max_size=14))
def test_k_for_features_never_leaves_the_graph_and_a_40th_of_the_rows(n, neighbors, counts):
    neighbors = min(neighbors, n - 1)
    given_counts = iter(counts)
    with pytest.MonkeyPatch.context() as patch:
        k, _ = of_counts(patch, lambda _: next(given_counts), n, neighbors)
    assert 1 <= k <= min(neighbors, max(2, n // 40))


def test_a_ranking_counts_near_copies_once(net, clouds):
    X = clouds(60, 10)
    burst = X[7] + 1e-4 * np.random.default_rng(0).standard_normal((40, X.shape[1]))
    alone, with_copies = (k_for_ranking(net, kf.knn_graph(rows, k=192)) for rows in (X, np.concatenate([X, burst])))
    assert with_copies == alone
    few = np.concatenate([X[:50], X[:1].repeat(20, axis=0)])  # fewer than 60 things
    assert k_for_ranking(net, kf.knn_graph(few, k=48)) == 4


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 400))
def test_k_after_training_is_that_of_the_fit_or_scaled_with_the_classes(own, free, fitted):
    expected = fitted if free / 2 <= own <= 2 * free else max(1, round(own * fitted / free))
    assert k_after_training(own, free, fitted) == expected


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_the_class_size_is_the_mean_over_rows(labels):
    slow = np.mean([labels.count(label) for label in labels])
    assert mean_class_size(np.array(labels)) == pytest.approx(slow)
    assert k_for_labelled(np.array(labels)) == min(80, max(10, round(slow)))
