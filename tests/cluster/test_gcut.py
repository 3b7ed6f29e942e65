"""G-cut: components, thresholds, the sweep, and the guards against one giant cluster."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster import GCut
from kinfolk.cluster.gcut import _sort_rows, components_above


def edges_above(g, scores, threshold):
    return [(i, int(j)) for i in range(len(g)) for j, s in zip(g.indices[i], scores[i], strict=True) if s >= threshold]


@pytest.mark.parametrize("similarity", ["cosine", "sim_m"])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6, 0.9, 2.0])
def test_clusters_are_the_connected_components(reference, similarity, threshold):
    g = kf.knn_graph(reference.rows(80, 5, 0), 6)
    scores = g.similarities if similarity == "cosine" else kf.sim_m(g)
    clusterer = GCut(6, threshold, similarity).fit(g)
    expected = reference.components(80, edges_above(g, scores, np.float32(threshold)))
    assert reference.same_partition(clusterer.labels_, expected)
    assert clusterer.n_clusters_ == expected.max() + 1


def test_edges_with_exactly_the_threshold_count():
    indices, scores = np.array([[1], [0], [0]], dtype=np.int32), np.array([[0.7], [0.7], [0.5]], dtype=np.float32)
    np.testing.assert_array_equal(components_above(indices, scores, float(np.float32(0.7))), [0, 0, 2])
    np.testing.assert_array_equal(components_above(indices, scores, 0.4), [0, 0, 0])


def test_rows_are_sorted_stably_by_falling_score():
    rng = np.random.default_rng(0)
    indices, scores = rng.permuted(np.tile(np.arange(9, dtype=np.int32), (20, 1)), axis=1), rng.integers(0, 4, (20, 9))
    order = np.argsort(-scores, axis=1, kind="stable")
    expected, scores = np.take_along_axis(indices, order, axis=1), scores.astype(np.float32)
    for start in (0, 16):
        _sort_rows(indices, scores, start, start + 16)
    np.testing.assert_array_equal(indices, expected)
    assert np.all(np.diff(scores, axis=1) <= 0)


@pytest.mark.parametrize("similarity", ["cosine", "sim_m"])
def test_every_point_of_the_sweep_is_the_score_from_scratch(similarity):
    fs = kf.datasets.person_like(12, seed=3, dim=32)
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


def test_tuning_for_trained_features_holds_identities_back():
    fs = kf.datasets.celeb_like(40, seed=0)
    labels = np.where(np.arange(len(fs)) % 50 == 0, -1, fs.labels)
    enhancer = kf.GraphEnhancer(random_state=3)
    tuned = GCut(k=20).tune(fs.features, labels, enhancer)
    assert not hasattr(enhancer, "k_")
    known = labels >= 0
    identities = np.random.default_rng(3).permutation(np.unique(labels[known]))
    halves = [np.isin(labels, identities[::2]), np.isin(labels, identities[1::2])]
    thresholds = []
    for cut, seen in (halves, halves[::-1]):
        half = kf.GraphEnhancer(random_state=3).fit(fs.features[seen], labels[seen])
        thresholds.append(GCut(k=20).tune(half.transform(fs.features[cut]), labels[cut]).threshold)
    assert tuned.threshold == pytest.approx(np.mean(thresholds), abs=1e-6)
    with pytest.raises(kf.InputError, match="needs features, not a NeighborGraph"):
        GCut().tune(kf.knn_graph(fs.features, 20), labels, enhancer)
    with pytest.raises(kf.InputError, match="5 identities are too few to hold back"):
        GCut().tune(fs.features, labels % 5, enhancer)


def test_a_sweep_after_auto_is_the_sweep_from_scratch():
    fs = kf.datasets.celeb_like(12, seed=1)
    after = GCut(k=10).fit(fs).sweep(fs.labels)
    fresh = GCut(k=10, threshold=0.5).fit(fs).sweep(fs.labels)
    np.testing.assert_array_equal(after.pairwise, fresh.pairwise)
    np.testing.assert_array_equal(after.thresholds, fresh.thresholds)


def test_auto_is_near_the_best_threshold_where_features_crowd_near_one():
    fs = kf.datasets.celeb_like(60, seed=3)
    Z = kf.GraphEnhancer().fit_transform(fs)
    clusterer = GCut().fit(Z)
    found = kf.metrics.pairwise(fs.labels, clusterer.labels_).f + kf.metrics.bcubed(fs.labels, clusterer.labels_).f
    assert found / 2 > clusterer.sweep(fs.labels).mean_f.max() - 0.05
    assert GCut().fit(kf.knn_graph(Z, 80)).threshold_ == clusterer.threshold_
    assert GCut(k=2).fit(Z[:3]).n_clusters_ >= 1  # too few neighbours to choose from


@pytest.mark.slow
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


def test_wrong_settings_are_named(reference):
    X = reference.rows(20, 4, 0)
    for settings_, words in (
        (dict(threshold="high"), "a number or 'auto'"),
        (dict(similarity="euclid"), "similarity must be one of cosine, sim_m"),
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
