"""G-cut: components, thresholds, the sweep, and the guards against one giant cluster."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.cluster import GCut
from kinfolk.cluster._internal.hash_map import FREE, GONE, grown, new_table, place_of
from kinfolk.cluster._internal.hierarchy import Merges, _modularity, cut
from kinfolk.cluster._internal.size_limit import join_with_guard, take_apart
from kinfolk.cluster._internal.sweep import MANY, score_merges
from kinfolk.cluster._internal.threshold_merges import FEW, merges_by_level
from kinfolk.cluster._internal.union_find import connected


def rows(n, d, seed):
    return np.random.default_rng(seed).standard_normal((n, d))


def edges_above(g, scores, threshold):
    return [(i, int(j)) for i in range(len(g)) for j, s in zip(g.indices[i], scores[i], strict=True) if s >= threshold]


@pytest.mark.parametrize("similarity", ["cosine", "sim_m"])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6, 0.9, 2.0])
def test_clusters_are_the_connected_parts(reference, similarity, threshold):
    g = kf.knn_graph(rows(80, 5, 0), 6)
    scores = g.similarities if similarity == "cosine" else kf.sim_m(g)
    clusterer = GCut(6, threshold, similarity).fit(g)
    expected = reference.components(80, edges_above(g, scores, np.float32(threshold)))
    assert reference.same_partition(clusterer.labels_, expected)
    assert clusterer.n_clusters_ == expected.max() + 1


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60))
@settings(max_examples=60, deadline=None)
def test_union_find_gives_the_lowest_row_of_each_part(n, edges):
    edges = np.array([e for e in edges if max(e) < n], dtype=np.int64).reshape(-1, 2)
    found = connected(n, edges[:, 0], edges[:, 1])
    expected = np.arange(n)
    for _ in range(n):  # spread the lowest number until nothing changes
        for a, b in edges:
            expected[a] = expected[b] = min(expected[a], expected[b])
    np.testing.assert_array_equal(found, expected)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.booleans()), max_size=200))
@settings(max_examples=50, deadline=None)
def test_the_table_remembers_like_a_dictionary(steps):
    keys, values = new_table(2)
    known, used = {}, 0
    for key, value, forget in steps:
        place = place_of(keys, key)
        if forget:
            if key in known:
                values[place] = GONE
                del known[key]
            continue
        used += keys[place] == FREE
        keys[place], values[place] = key, value
        known[key] = value
        if 2 * used > len(keys):
            keys, values, used = grown(keys, values)
            assert used == len(known)
    for key in range(41):
        place = place_of(keys, key)
        found = values[place] if keys[place] != FREE else GONE
        assert found == known.get(key, GONE)


@pytest.mark.parametrize("similarity", ["cosine", "sim_m"])
def test_every_point_of_the_sweep_is_the_score_from_scratch(similarity):
    fs = kf.datasets.person_like(12, seed=3)
    labels = fs.labels.copy()
    labels[::7] = -1  # unknown
    g = kf.knn_graph(fs, 15)
    sweep = GCut(15, 0.5, similarity).fit(g).sweep(labels, points=25)
    assert len(sweep) == 25
    assert np.all(np.diff(sweep.thresholds) < 0)
    for row in range(25):
        found = GCut(15, float(sweep.thresholds[row]), similarity).fit_predict(g)
        np.testing.assert_allclose(sweep.pairwise[row], kf.metrics.pairwise(labels, found), atol=1e-12)
        np.testing.assert_allclose(sweep.bcubed[row], kf.metrics.bcubed(labels, found), atol=1e-12)
        assert sweep.n_clusters[row] == len(np.unique(found[labels >= 0]))
    best = sweep.oracle
    assert (best.pairwise.f + best.bcubed.f) / 2 == sweep.mean_f.max()
    assert "oracle" in repr(sweep)


@given(st.integers(2, 60), st.integers(1, 5 * MANY), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_scores_of_any_merges_equal_scores_from_scratch(n, classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, classes, n)
    labels[0] = 0
    tree = rng.permutation(n)
    pairs = np.array([(tree[i], tree[rng.integers(i)]) for i in range(1, n)], dtype=np.int32)
    pairs = pairs[rng.permutation(n - 1)[: rng.integers(1, n)]]
    merges = Merges(pairs[:, 0], pairs[:, 1], np.linspace(1, 0, len(pairs), dtype=np.float32))
    sweep = score_merges(merges, merges.similarity, labels, n)
    for count in range(1, len(pairs) + 1):
        found = cut(merges, n, count)
        np.testing.assert_allclose(sweep.pairwise[count - 1], kf.metrics.pairwise(labels, found), atol=1e-12)
        np.testing.assert_allclose(sweep.bcubed[count - 1], kf.metrics.bcubed(labels, found), atol=1e-12)


@given(st.integers(2, 40), st.integers(1, 12), st.integers(1, 8), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_the_merges_up_to_each_level_make_the_parts_of_the_edges_above_it(n, k, values, points, seed):
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, n, (n, k), dtype=np.int32)
    scores = -np.sort(-rng.integers(0, values, (n, k)).astype(np.float32), axis=1)  # few values: many are equal
    thresholds = -np.sort(-rng.uniform(-1, values, points).round(rng.integers(0, 2))).astype(np.float32)
    merges = merges_by_level(indices, scores, thresholds)
    assert np.all(np.diff(merges.similarity) <= 0)
    for threshold in thresholds:
        left, a = np.nonzero(scores >= threshold)
        expected = connected(n, left, indices[left, a])
        count = np.count_nonzero(merges.similarity >= threshold)
        np.testing.assert_array_equal(cut(merges, n, count), expected)
        assert count == n - len(np.unique(expected))  # every merge joins two clusters


def test_edges_beyond_the_nearest_join_what_those_leave_apart():
    n, k = 60, FEW + 3
    own, far = np.arange(n) // 10 * 10, (np.arange(n) + 10) % n
    near = own[:, None] + (np.arange(n)[:, None] + np.arange(1, FEW + 1)) % 10
    indices = np.hstack([near, np.stack([far] * 3, axis=1)]).astype(np.int32)
    scores = np.tile(np.linspace(1, 0.1, k, dtype=np.float32), (n, 1))
    merges = merges_by_level(indices, scores, np.array([0.5, 0.05], np.float32))
    assert np.count_nonzero(merges.similarity == np.float32(0.5)) == n - 6
    assert len(merges.left) == n - 1


def test_modularity_after_each_merge_is_that_of_the_definition(reference):
    g = kf.knn_graph(rows(40, 4, 1), 5)
    merges = merges_by_level(g.indices, g.similarities, np.linspace(1, -0.2, 30, dtype=np.float32))
    weights = kf.sim_m(g) ** 3
    fast = _modularity(merges.left, merges.right, g.indices, weights)
    edges = [(i, int(j)) for i in range(40) for j in g.indices[i]]
    for count in range(len(merges.left) + 1):
        labels = np.unique(cut(merges, 40, count), return_inverse=True)[1]
        assert fast[count] == pytest.approx(reference.modularity(labels, edges, weights.ravel().tolist()), abs=1e-6)


def test_tuning_takes_the_best_balance_on_the_labelled_part_and_keeps_it():
    fs = kf.datasets.celeb_like(36, seed=2)
    train, test = fs.part("train"), fs.part("test")
    clusterer = GCut(k=20).tune(train, train.labels)
    tuned = clusterer.threshold
    found = (
        kf.metrics.pairwise(train.labels, clusterer.labels_).f + kf.metrics.bcubed(train.labels, clusterer.labels_).f
    ) / 2
    assert found >= GCut(k=20).fit(train).sweep(train.labels).mean_f.max() - 1e-12
    assert clusterer.fit(test).threshold_ == tuned


def test_a_sweep_after_auto_is_the_sweep_from_scratch():
    fs = kf.datasets.celeb_like(12, seed=1)
    after = GCut(k=10).fit(fs).sweep(fs.labels)
    fresh = GCut(k=10, threshold=0.5).fit(fs).sweep(fs.labels)
    np.testing.assert_array_equal(after.pairwise, fresh.pairwise)
    np.testing.assert_array_equal(after.thresholds, fresh.thresholds)


@pytest.mark.parametrize("name", ["clinc150", "banking77", "omniglot", "market1501"])
def test_the_threshold_without_labels_comes_near_the_oracle(shared_data, name):
    train = kf.load(shared_data / f"{name}.npz").part("train")
    g = kf.knn_graph(train, 20)
    for similarity in ("cosine", "sim_m"):
        clusterer = GCut(20, similarity=similarity).fit(g)
        labels = clusterer.labels_
        found = (kf.metrics.pairwise(train.labels, labels).f + kf.metrics.bcubed(train.labels, labels).f) / 2
        assert found > clusterer.sweep(train.labels).mean_f.max() - 0.13


def bridged(seed=0):
    """Two identities of 60 and a few blurred pictures that resemble both."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(np.eye(40)[:2], 60, axis=0)
    bridge = np.outer(np.linspace(0.1, 0.9, 15), np.eye(40)[0]) + np.outer(np.linspace(0.9, 0.1, 15), np.eye(40)[1])
    X = np.concatenate([centres, bridge]) + 0.03 * rng.standard_normal((135, 40))
    return X, np.repeat([0, 1, -1], [60, 60, 15])


def test_plain_gcut_chains_two_identities_and_the_guard_keeps_them_apart():
    X, y = bridged()
    plain = GCut(20, 0.8).fit_predict(X)
    assert plain[0] == plain[60]  # the known failure: one chain of edges is enough
    guarded = GCut(20, 0.8, guard=1.0).fit_predict(X)
    assert kf.metrics.pairwise(y, guarded).f > 0.99
    limited = GCut(20, 0.8, max_size=75).fit(X)
    assert limited.summary().sizes[0] <= 75
    assert kf.metrics.pairwise(y, limited.labels_).f > kf.metrics.pairwise(y, plain).f


def test_the_guard_joins_what_many_edges_join():
    X = np.random.default_rng(0).standard_normal((100, 8)) * 0.05 + np.eye(8)[0]
    assert GCut(20, 0.5, guard=1.0).fit(X).n_clusters_ == 1
    # two groups of three with one edge between them, and with three
    inside = [(0, 1), (1, 2), (3, 4), (4, 5)]
    for between, clusters in (([(2, 3)], 2), ([(0, 3), (1, 4), (2, 5)], 1)):
        sources, targets = np.array(inside + between, dtype=np.int32).T
        found = join_with_guard(6, sources.copy(), targets.copy(), guard=1.0, from_size=3)
        assert len(np.unique(found)) == clusters


@given(st.integers(1, 12), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_no_cluster_passes_the_limit_and_none_is_joined_anew(limit, seed):
    g = kf.knn_graph(rows(40, 3, seed), 5)
    before = GCut(5, 0.7).fit_predict(g)
    after = take_apart(before, g, limit)
    assert np.bincount(after).max() <= limit
    for label in np.unique(after):
        assert len(np.unique(before[after == label])) == 1
    small = np.bincount(before)[before] <= limit
    for label in np.unique(before[small]):
        assert len(np.unique(after[before == label])) == 1


def test_what_cannot_be_done_is_said():
    X = rows(20, 4, 0)
    for settings_, words in (
        (dict(threshold="high"), "a number or 'auto'"),
        (dict(similarity="euclid"), "'cosine' or 'sim_m'"),
        (dict(guard=-1), "guard must be"),
        (dict(k=0), "k must be"),
        (dict(max_size=0), "max_size"),
    ):
        with pytest.raises(kf.InputError, match=words):
            GCut(**settings_).fit(X)
    with pytest.raises(kf.InputError, match="points"):
        GCut().fit(X).sweep(np.zeros(20, dtype=int), points=0)
    with pytest.raises(kf.InputError, match="no known class"):
        GCut().fit(X).sweep(np.full(20, -1))
