"""Closure over k, and the warning that reads it."""

import warnings

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.similarity import TooManyNeighborsWarning, closure
from kinfolk.similarity.closure import closure_drop, most_closed, warn_if_k_is_large


def classes_of(size, count=20):
    return np.eye(count).repeat(size, axis=0) + 0.1 * np.random.default_rng(0).random((count * size, count))


def test_closure_equals_counting_over_sets():
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((40, 3)), 9)
    for k, found in zip((1, 4, 9), closure(g, (1, 4, 9)), strict=True):
        sets = [set(row[:k].tolist()) for row in g.indices]
        shares = [len(sets[i] & sets[j]) / max(k - 1, 1) for i in range(40) for j in sets[i]]
        assert found == pytest.approx(np.mean(shares))


def test_neighbourhoods_are_most_closed_at_the_size_of_a_class():
    g = kf.knn_graph(classes_of(11), 40)
    assert most_closed(g, [5, 10, 20, 40]) == 10
    assert most_closed(g, [5, 400]) == 5  # only k that the graph has are compared


def test_the_closure_drops_behind_the_size_of_a_class_only():
    g = kf.knn_graph(classes_of(11), 20)
    assert closure_drop(g) > 0 > closure_drop(g.restrict(10))
    before, now = closure(g, [10, 20])
    assert closure_drop(g) == pytest.approx(before - now)


def test_too_large_a_k_is_warned_of():
    g = kf.knn_graph(classes_of(8), 40)
    with pytest.warns(TooManyNeighborsWarning, match="k=40 looks larger than the classes"):
        warn_if_k_is_large(g)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_k_is_large(g.restrict(7))
        warn_if_k_is_large(kf.knn_graph(classes_of(41), 40))
