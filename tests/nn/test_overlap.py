"""Overlapping sub-graphs: runs, distinct nodes and attention against numpy."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax

import kinfolk as kf
from kinfolk.nn._overlap import attend_probes, blocks, distinct, near_order, overlapping_runs, rows_and_directions


@settings(deadline=None)
@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0), elements=st.integers(0, 2**40)))
def test_distinct_nodes_are_those_of_unique(nodes):
    unique, places = distinct(nodes)
    np.testing.assert_array_equal(np.sort(unique), np.unique(nodes))
    np.testing.assert_array_equal(unique[places], nodes)


def test_probes_attend_by_the_equation():
    generator = np.random.default_rng(0)
    places = generator.integers(0, 9, (4, 5))
    places[0] = [1, 5, 1, 2, 8]  # one node occurs twice
    cosines, x, queries, weight = (generator.normal(size=shape) for shape in ((9, 9), (9, 3), (4, 3), (5, 5)))
    for p, some in enumerate(places):
        adjacency = cosines[np.ix_(some, some)]
        adjacency /= np.linalg.norm(adjacency, axis=1, keepdims=True)
        quartet = adjacency[0] @ weight @ adjacency.T
        expected = softmax(queries[p] @ x[some].T + quartet) @ x[some]
        np.testing.assert_allclose(attend_probes(cosines, x, places, queries, weight)[p], expected, rtol=1e-12)
        without_self = attend_probes(cosines, x, places, queries[:, :0], weight)[p]
        np.testing.assert_allclose(without_self, softmax(quartet) @ x[some], rtol=1e-12)


@settings(deadline=None)
@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 30)), st.floats(0, 4))
def test_runs_hold_every_sub_graph_and_few_pairs(nodes, most):
    runs = overlapping_runs(nodes, most)
    assert runs.sum() == len(nodes) and runs.min() > 0
    for run, size in zip(np.split(nodes, np.cumsum(runs)[:-1]), runs, strict=True):
        own = nodes.shape[1] ** 2
        assert len(np.unique(run)) ** 2 <= own + most * own * (size - 1)


def test_directions_have_length_one_and_zero_rows_stay_zero():
    features = np.random.default_rng(0).normal(size=(6, 4))
    features[2] = 0
    rows, directions = rows_and_directions(features, np.array([5, 2, 0]))
    np.testing.assert_array_equal(rows, features[[5, 2, 0]])
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), [1, 0, 1])
    np.testing.assert_allclose(directions * np.linalg.norm(rows, axis=1, keepdims=True), rows)


def test_the_walk_visits_every_probe_once_and_goes_to_near_ones():
    X = np.random.default_rng(0).normal(size=(200, 3))
    indices = kf.knn_graph(X, k=12).indices.astype(np.int64)
    order = near_order(indices)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(X)))
    steps = sum(after in indices[before] for before, after in itertools.pairwise(order))
    assert steps > 0.8 * len(X)
    # neighbours that are no probes are skipped
    np.testing.assert_array_equal(np.sort(near_order(indices[:40])), np.arange(40))


def test_blocks_are_those_of_indexing():
    generator = np.random.default_rng(0)
    matrix, places = generator.normal(size=(9, 9)), generator.integers(0, 9, (4, 5))
    np.testing.assert_array_equal(blocks(matrix, places), np.stack([matrix[np.ix_(some, some)] for some in places]))
