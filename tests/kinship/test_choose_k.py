"""Every choice of k."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.kinship.choose_k import (
    CANDIDATES,
    SHARE_OF_CLASS,
    _agree_with_labels,
    _end_of_class,
    _first_valley,
    _start_of_family,
    _where_classes_show,
    candidate_ks,
    choose_k,
    k_after_training,
    k_for_clusters,
    k_for_features,
    k_for_labelled,
    k_for_ranking,
    largest_k,
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
    X = clouds(max(10, 400 // size), size, seed)
    k = k_for_features(net, kf.knn_graph(X, k=neighbors_to_choose(len(X))))
    assert size / 2 <= k <= 2 * size


def test_sets_that_are_too_small_for_the_candidates_have_a_k_all_the_same(net, clouds):
    for n in range(2, 14):
        g = kf.knn_graph(clouds(1, n), k=n - 1)
        assert 1 <= k_for_features(net, g) <= g.k
        assert 1 <= k_for_ranking(net, g) <= max(1, n - 1)
    assert k_for_features(net, kf.knn_graph(clouds(5, 40), k=1)) == 1


def of_counts(monkeypatch, choose, ks: list[int], counts: list[float]) -> int:
    """Return what is chosen where the kin counts at these k are the given ones."""
    monkeypatch.setattr(module, "candidate_ks", lambda _: ks)
    monkeypatch.setattr(module, "SMALLEST_CANDIDATE", 10**9)
    monkeypatch.setattr(module, "kin_counts", lambda *_: np.array(counts))
    indices = np.broadcast_to(np.arange(1, 601, dtype=np.int32), (601, 600))
    g = kf.NeighborGraph(indices, np.ones(indices.shape, dtype=np.float32), 601)
    return choose(None, g)


@pytest.mark.parametrize(
    ("ks", "counts", "k"),
    [
        ([8, 12, 24], [0.5, 0.4, 0.3], 9),  # never full: where 0.93 of the most are left
        ([8, 12, 24], [0.8, 0.76, 0.79], 24),  # never full and never fewer: the largest
        ([8, 12, 24], [1.5, 1.4, 1.3], 24),  # always full: the largest
        ([6, 24], [1.18, 0.78], 12),  # half-way between the two, on a scale of factors
        ([6, 24], [0.98, 0.1], 6),
        ([8, 12, 17, 24], [1.4, 0.97, 1.0, 0.5], 17),  # the last crossing: a dip of three hundredths is no valley
        ([6, 8, 12, 17, 24, 34], [1.4, 1.5, 1.2, 1.1, 1.3, 1.5], 17),  # below the valley before a family
        # the bottom itself is no longer full: the level is crossed on the way down, whatever comes after
        ([6, 8, 12, 17, 24, 34], [1.4, 1.38, 0.58, 0.5, 1.3, 1.5], 10),
    ],
)
def test_k_for_features_is_where_the_count_falls_through_the_level(monkeypatch, ks, counts, k):
    assert of_counts(monkeypatch, k_for_features, ks, counts) == k


@pytest.mark.parametrize(
    ("counts", "place"),
    [
        ([1.4, 1.5, 1.2, 1.1, 1.3, 1.5], 3),
        ([1.4, 1.5, 1.2, 1.1, 1.2, 1.2], 5),  # rises too little
        ([1.2, 1.5, 1.49, 1.49, 1.7, 1.9], 5),  # fell too little
        ([1.2, 1.42, 1.41, 1.38, 1.41, 1.8], 3),  # vehicle_like, seed 2
        ([1.2, 1.41, 1.41, 1.38, 1.42, 1.8], 3),  # back at the peak on the way up
        ([1.1, 1.1, 0.95, 0.95, 1.2, 1.6], 5),  # no peak that the counts rose to
    ],
)
def test_a_valley_needs_a_drop_before_it_and_a_rise_after_it(counts, place):
    assert _first_valley([6, 8, 12, 17, 24, 34], np.array(counts)) == place


def test_small_k_and_single_counts_have_no_valley():
    assert _first_valley([3, 4, 6, 8], np.array([1.5, 0.2, 1.5, 1.6])) == 3
    assert _first_valley([8], np.array([0.3])) == 0


@pytest.mark.parametrize(
    ("counts", "k"),
    [
        ([1.6, 1.6, 1.4, 1.2, 1.1], 10),  # falls to 0.8 of its peak between 8 and 12
        ([1.0, 1.2, 1.5, 1.4, 1.6], 12),  # dips behind the peak and rises again: a family begins
        ([1.2, 1.4, 1.41, 1.5, 1.1], 8),  # stands still behind the peak and rises again: a family too
        ([1.2, 1.1, 1.0, 1.2, 1.5], 17),  # falls before a class shows: not a peak
        ([1.7, 1.2, 0.9, 1.2, 1.8], 6),  # falls far from a first peak: small classes in families
        ([0.5, 0.5, 0.5, 0.5, 0.5], 17),
    ],
)
def test_the_end_of_a_class_is_read_off_the_counts(counts, k):
    ks, found = [3, 5, 8, 12, 17], np.array(counts)
    assert round(min(_end_of_class(ks, found), _start_of_family(ks, found))) == k


@pytest.mark.parametrize(
    ("counts", "start"),
    [
        ([0.87, 0.73, 0.66, 0.65, 0.7, 1.03, 1.63, 1.3], 3),  # a tenth of clinc150: falls by 0.22 before a class shows
        ([1.24, 0.95, 0.72, 0.65, 0.6, 0.57, 0.53, 0.5], 0),  # classes of four
        ([0.9, 0.8, 0.7, 0.65, 0.6, 0.57, 0.53, 0.5], 0),  # no class at any k
        ([1.2, 0.7, 1.6, 1.2, 1.0, 0.9, 0.8, 0.7], 0),  # a class of few, and its family
    ],
)
def test_counts_that_fall_before_a_class_shows_are_no_class(counts, start):
    assert _where_classes_show(np.array(counts)) == start


def test_a_fall_before_the_first_class_does_not_set_k(monkeypatch):
    ks = [3, 4, 6, 8, 12, 17, 24, 34, 48, 68, 96]
    counts = [0.87, 0.79, 0.73, 0.66, 0.66, 0.65, 0.7, 0.79, 1.03, 1.63, 1.2]
    assert 68 < of_counts(monkeypatch, k_for_clusters, ks, counts) < 96


@pytest.mark.parametrize("items", [8, 30])
def test_k_for_clusters_is_about_a_class(net, items):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 64)).repeat(items, axis=0) + 1.2 * rng.standard_normal((40 * items, 64))
    Z = kf.GraphEnhancer(show_progress=False).fit_transform(rows)
    assert items / 2 <= k_for_clusters(net, kf.knn_graph(Z, k=120)) <= 2 * items


def test_k_for_clusters_fits_into_a_small_graph(net):
    g = kf.knn_graph(np.eye(9) + 0.1, k=4)
    assert 1 <= k_for_clusters(net, g) <= largest_k(g)
    assert 1 <= k_for_clusters(net, g, class_size=4.0) <= largest_k(g)


@given(st.integers(1, 400), st.floats(1, 400))
def test_labels_set_k_only_near_what_the_graph_shows(own, size):
    labelled = SHARE_OF_CLASS * size
    expected = max(1, round(labelled)) if labelled / 2 <= own <= 2 * labelled else own
    assert _agree_with_labels(own, size) == expected
    assert _agree_with_labels(own, None) == own


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 400))
def test_k_after_training_is_that_of_the_fit_or_scaled_with_the_classes(own, free, fitted):
    expected = fitted if free / 2 <= own <= 2 * free else max(1, round(own * fitted / free))
    assert k_after_training(own, free, fitted) == expected


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_the_class_size_is_the_mean_over_rows(labels):
    slow = np.mean([labels.count(label) for label in labels])
    assert mean_class_size(np.array(labels)) == pytest.approx(slow)
    assert k_for_labelled(np.array(labels)) == min(80, max(10, round(slow)))
