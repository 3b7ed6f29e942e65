"""The tree: nested cuts, probabilities around the chosen clusters, the limit of sizes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster._internal.agglomerate import tree_through
from kinfolk.cluster._internal.tree import height_of_cut, tree_of
from kinfolk.cluster._internal.union_find import connected

NOTHING = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def grown(seed, n=80, clusters=12):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    labels = np.unique(rng.integers(0, clusters, n), return_inverse=True)[1]
    inside, between = tree_through(X, kf.knn_graph(X, 15, show_progress=False).indices, labels)
    return labels, inside, between


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_cuts_are_nested_and_the_middle_one_is_the_chosen_one(seed):
    labels, inside, between = grown(seed)
    tree = tree_of(inside, between, np.arange(80), NOTHING, 4.0, 80)
    assert (np.diff(tree.probability) <= 0).all()
    assert kf.metrics.ari(labels, tree.cut(0.5)) == 1
    finer = tree.cut(1.0)
    for probability in np.linspace(1, 0, 30):
        coarser = tree.cut(probability)
        assert len(np.unique(np.stack([finer, coarser]), axis=1).T) == len(np.unique(finer)), "a cluster is cut"
        finer = coarser
    assert len(np.unique(tree.cut(0))) == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_a_limited_tree_against_a_slow_one(seed, most):
    _, inside, between = grown(seed)
    tree = tree_of(inside, between, np.arange(80), NOTHING, 4.0, 80)
    left, right = [], []
    for a, b in zip(tree.left.tolist(), tree.right.tolist(), strict=True):
        if np.bincount(connected(80, np.array([*left, a]), np.array([*right, b]))).max() <= most:
            left.append(a)
            right.append(b)
    found = tree.limited(most)
    assert (found.left.tolist(), found.right.tolist()) == (left, right)


def test_known_rows_come_first():
    _, inside, between = grown(0)
    known = (np.array([80, 81]), np.array([0, 80]))
    tree = tree_of(inside, between, np.arange(80), known, 4.0, 82)
    found = tree.cut(1.0)
    assert found[80] == found[81] == found[0]


def test_the_height_of_a_cut_lies_between():
    _, inside, between = grown(3)
    both = np.concatenate([inside.similarity, between.similarity])
    assert (both > height_of_cut(inside, between)).sum() == len(inside.similarity)
