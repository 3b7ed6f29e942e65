"""The Potts model against its definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from kinfolk.cluster._internal.potts import group_by_potts, potts_quality


def quality_of_all_pairs(weights: np.ndarray, labels: np.ndarray, resolution: float) -> float:
    pairs = itertools.combinations(range(len(labels)), 2)
    return sum(float(weights[i, j]) - resolution for i, j in pairs if labels[i] == labels[j])


def some_graph(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.7), 1).astype(np.float32)
    return upper + upper.T


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000), st.floats(0.05, 0.95))
def test_no_cluster_would_rather_be_elsewhere(n, seed, resolution):
    weights = some_graph(n, seed)
    labels = group_by_potts(csr_array(weights), resolution, seed)
    best = quality_of_all_pairs(weights, labels, resolution)
    assert potts_quality(csr_array(weights), labels, resolution) == pytest.approx(best, abs=1e-4)
    assert best >= -1e-4, "rows on their own have quality 0"
    for a, b in itertools.combinations(np.unique(labels), 2):
        assert quality_of_all_pairs(weights, np.where(labels == a, b, labels), resolution) <= best + 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_few_rows_are_grouped_nearly_as_well_as_can_be(seed):
    weights = some_graph(6, seed)
    every = [np.array(labels) for labels in itertools.product(range(6), repeat=6) if labels[0] == 0]
    best = max(quality_of_all_pairs(weights, labels, 0.5) for labels in every)
    assert quality_of_all_pairs(weights, group_by_potts(csr_array(weights)), 0.5) >= 0.8 * best - 1e-4


def test_a_graph_without_edges_and_one_of_equals():
    assert len(set(group_by_potts(csr_array((5, 5), dtype=np.float32)).tolist())) == 5
    assert len(set(group_by_potts(csr_array(1 - np.eye(5, dtype=np.float32))).tolist())) == 1
