"""The tree of nested cuts against slow average linkage."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from kinfolk import InputError
from kinfolk.cluster._internal.constraints import read_constraints
from kinfolk.cluster._internal.potts import by_appearance, group_by_potts
from kinfolk.cluster._internal.tree import Tree, kinship_tree

CUTS = [1.0, 0.9, 0.75, 0.6, 0.5000001, 0.5, 0.4999999, 0.4, 0.25, 0.1, 0.01, 1e-9, 0.0]


def some_case(n, seed, share, openness):
    """Some p (n, n), nan without an edge, u and w."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    kin = truth[:, None] == truth
    p = np.where(kin, rng.beta(4, 1.5, (n, n)), rng.beta(1, 5, (n, n))).astype(np.float32)
    p = np.where(rng.random((n, n)) < share, p, np.nan)
    p = np.triu(p, 1) + np.triu(p, 1).T
    np.fill_diagonal(p, np.nan)
    return p.astype(np.float32), 1 - openness * rng.random(n), rng.integers(1, 4, n)


def as_graph(p):
    rows, columns = np.nonzero(~np.isnan(p))
    return csr_array((p[rows, columns], (rows, columns)), shape=p.shape)


def random_constraints(n, rng):
    """Pairs without contradiction: must-links inside, and cannot-links between, the classes of a hidden clustering."""
    hidden = rng.integers(0, max(2, n // 2), n)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.25]
    must = [(a, b) for a, b in pairs if hidden[a] == hidden[b]]
    cannot = [(a, b) for a, b in pairs if hidden[a] != hidden[b] and rng.random() < 0.5]
    return must, cannot


def finer(one, other) -> bool:
    """Whether each cluster of one lies inside a cluster of the other."""
    return len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(set(one.tolist()))


def slow_heights(p, u, w, labels, apart=()):
    """Average linkage pair by pair, first inside the clusters, then between them: the height at which two rows meet."""
    n = len(u)
    q = np.where(np.isnan(p), (1 - np.outer(u, u)) / 2, p).astype(np.float64)
    meet, parts = np.zeros((n, n)), [[i] for i in range(n)]

    def mean(a, b):
        weights = np.outer(w[a], w[b])
        return (q[np.ix_(a, b)] * weights).sum() / weights.sum()

    def linked(a, b):
        return not np.isnan(p[np.ix_(a, b)]).all()

    def forbidden(a, b):
        return any((i in a and j in b) or (j in a and i in b) for i, j in apart)

    def merge(a, b, height):
        parts.remove(a)
        parts.remove(b)
        parts.append(a + b)
        meet[np.ix_(a, b)] = height
        meet[np.ix_(b, a)] = height

    lows = dict.fromkeys(labels.tolist(), 1.0)
    while True:
        same = [
            (a, b) for a, b in itertools.combinations(parts, 2) if labels[a[0]] == labels[b[0]] and mean(a, b) > 0.5
        ]
        if not same:
            break
        a, b = max(same, key=lambda pair: mean(*pair))
        lows[labels[a[0]]] = min(lows[labels[a[0]]], mean(a, b))
        merge(a, b, lows[labels[a[0]]])
    for c in set(labels.tolist()):
        while len(rest := [part for part in parts if labels[part[0]] == c]) > 1:
            merge(rest[0], rest[1], 0.5)
    low = 0.5
    while candidates := [(a, b) for a, b in itertools.combinations(parts, 2) if linked(a, b) and not forbidden(a, b)]:
        a, b = max(candidates, key=lambda pair: mean(*pair))
        low = min(low, mean(a, b))
        merge(a, b, low)
    return meet


def heights_where_rows_meet(tree: Tree, n: int):
    meet = np.zeros((n, n))
    for height in np.unique(tree.height):  # rising: higher cuts overwrite
        labels = tree.cut(height)
        meet[labels[:, None] == labels] = height
    return meet


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 14), st.integers(0, 10_000), st.floats(0.2, 1.0), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_the_tree_is_average_linkage(n, seed, share, openness, with_apart):
    p, u, w = some_case(n, seed, share, openness)
    graph = as_graph(p)
    _, cannot = random_constraints(n, np.random.default_rng(seed)) if with_apart else ((), ())
    apart = np.array(cannot, dtype=np.int64).reshape(-1, 2)
    labels = group_by_potts(graph, closed=u, copies=w, apart=apart)
    tree = kinship_tree(graph, labels, closed=u, copies=w, apart=apart)
    found, expected = heights_where_rows_meet(tree, n), slow_heights(p, u, w, labels, cannot)
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(found[off], expected[off], atol=1e-5)


@settings(max_examples=400, deadline=None)
@given(st.integers(2, 30), st.integers(0, 100_000), st.floats(0.05, 1.0), st.sampled_from([0.0, 0.5, 1.0]))
def test_constraints_hold_at_every_cut_and_cuts_are_nested(n, seed, share, openness):
    rng = np.random.default_rng(seed)
    p, u, w = some_case(n, seed, share, openness)
    must, cannot = random_constraints(n, rng)
    together, apart = read_constraints(n, must, cannot)
    given_ = dict(closed=u, copies=w, together=together, apart=apart)
    labels = group_by_potts(as_graph(p), **given_)
    tree = kinship_tree(as_graph(p), labels, **given_)
    assert (np.diff(tree.height) <= 0).all()
    cuts = [tree.cut(t) for t in [*CUTS[:-1], *rng.random(4), 0.0]]
    for clusters in cuts:
        assert all(clusters[a] == clusters[b] for a, b in must)
        assert all(clusters[a] != clusters[b] for a, b in cannot)
    order = np.argsort([-clusters.max() for clusters in cuts], kind="stable")
    for finer_one, coarser in itertools.pairwise(cuts[i] for i in order):
        assert finer(finer_one, coarser)
    for t, s in itertools.combinations(CUTS, 2):
        assert finer(tree.cut(t), tree.cut(s))
    np.testing.assert_array_equal(tree.cut(0.5), by_appearance(labels))
    np.testing.assert_array_equal(tree.cut(1), by_appearance(together))
    whole = tree.cut(0)
    for a, b in itertools.combinations(range(whole.max() + 1), 2):
        assert any({whole[i], whole[j]} == {a, b} for i, j in cannot), "nothing else keeps clusters apart at 0"


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 20), st.integers(0, 10_000))
def test_any_clustering_may_be_the_middle_of_the_tree(n, seed):
    p, u, _ = some_case(n, seed, 0.3, 1.0)
    labels = np.random.default_rng(seed).integers(0, 4, n)
    tree = kinship_tree(as_graph(p), labels, closed=u)
    np.testing.assert_array_equal(tree.cut(0.5), by_appearance(labels))
    assert tree.cut(0).max() == 0
    assert tree.cut(1).max() == n - 1


def test_clusters_without_an_edge_between_them_meet_at_zero_only():
    p = np.full((4, 4), np.nan, dtype=np.float32)
    p[0, 1] = p[1, 0] = p[2, 3] = p[3, 2] = 0.8
    for u in (np.zeros(4), np.ones(4)):
        tree = kinship_tree(as_graph(p), np.array([0, 0, 1, 1]), closed=u)
        assert tree.cut(1e-12).tolist() == [0, 0, 1, 1]
        assert tree.cut(0).tolist() == [0, 0, 0, 0]


def test_a_hub_with_many_links_is_joined_nearly_as_slowly_as_can_be():
    # a star of strangers with more links than are kept up to date at once
    n, rng = 300, np.random.default_rng(0)
    p = np.full((n, n), np.nan, dtype=np.float32)
    p[0, 1:] = p[1:, 0] = rng.random(n - 1) * 0.4
    u = rng.random(n)
    tree, labels = kinship_tree(as_graph(p), np.arange(n), closed=u), np.arange(n)
    expected = slow_heights(p[:100, :100], u[:100], np.ones(100), labels[:100])
    small = kinship_tree(as_graph(p[:100, :100]), labels[:100], closed=u[:100])
    off = ~np.eye(100, dtype=bool)
    np.testing.assert_allclose(heights_where_rows_meet(small, 100)[off], expected[off], atol=0.05)
    assert tree.cut(0).max() == 0
    assert tree.cut(0.5).max() == n - 1


def test_saturated_probabilities_are_below_one():
    graph = csr_array(np.array([[0, 1], [1, 0]], dtype=np.float32))
    assert kinship_tree(graph, np.zeros(2, dtype=np.int64)).cut(1).tolist() == [0, 1]


@pytest.mark.parametrize("probability", [-0.1, 1.1, "half", float("nan")])
def test_a_cut_is_at_a_probability(probability):
    with pytest.raises(InputError, match="probability"):
        kinship_tree(csr_array((2, 2), dtype=np.float32), np.arange(2)).cut(probability)


def test_one_row_and_no_edges():
    assert kinship_tree(csr_array((1, 1), dtype=np.float32), np.zeros(1, dtype=np.int64)).cut(0.3).tolist() == [0]
    tree = kinship_tree(csr_array((3, 3), dtype=np.float32), np.arange(3))
    assert tree.cut(0.1).tolist() == [0, 1, 2]
    assert tree.cut(0.0).tolist() == [0, 0, 0]
