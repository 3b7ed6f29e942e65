"""Each clusterer against its slow form, scikit-learn or its definition."""

import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import cluster as sklearn_cluster

import kinfolk as kf
from kinfolk.cluster import DBSCAN, HAC, HDBSCAN, ChineseWhispers, Finch, Infomap, KMeans, Leiden, hdbscan
from kinfolk.cluster._internal.base import by_size
from kinfolk.cluster._internal.hierarchy import cut
from kinfolk.cluster._internal.linkage import sparse_linkage
from kinfolk.cluster.hac import dense_linkage


def rows(n, d, seed):
    return np.random.default_rng(seed).standard_normal((n, d))


def blobs(classes=6, size=15, noise=0.15, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(classes), size))
    return np.eye(classes * 2)[y] + noise * rng.standard_normal((len(y), classes * 2)), y


@pytest.mark.parametrize("linkage", ["single", "average", "complete"])
@pytest.mark.parametrize("seed", range(4))
def test_sparse_linkage_is_the_definition_with_missing_pairs_at_zero(reference, linkage, seed):
    g = kf.knn_graph(rows(36, 6, seed), 7)
    graph = g.symmetric("union")
    merges = sparse_linkage(graph, linkage)
    heights, partitions = reference.agglomerate(np.maximum(graph.toarray(), 0), linkage)
    np.testing.assert_allclose(merges.similarity, heights, atol=1e-6)
    for count, expected in enumerate(partitions, start=1):
        assert reference.same_partition(cut(merges, 36, count), expected)


@pytest.mark.parametrize("linkage", ["single", "average", "complete"])
def test_few_rows_are_linked_exactly(reference, linkage):
    X = np.abs(rows(30, 5, 1))  # positive cosines: the definition stops at zero
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    _, partitions = reference.agglomerate(unit @ unit.T, linkage)
    for clusters in (2, 5, 20):
        assert reference.same_partition(HAC(clusters, linkage=linkage).fit_predict(X), partitions[30 - clusters - 1])


def test_hac_on_the_whole_graph_is_exact_hac(reference):
    X = np.abs(rows(40, 6, 2))
    for linkage in ("single", "average", "complete"):
        exact = HAC(linkage=linkage, threshold=0.8, k=39).fit_predict(X)
        on_graph = HAC(linkage=linkage, threshold=0.8, k=39).fit_predict(kf.knn_graph(X, 39))
        assert reference.same_partition(exact, on_graph)


def test_average_linkage_grows_its_table_and_stays_right(reference):
    # a ring of hubs: links move between clusters many times
    rng = np.random.default_rng(0)
    S = sparse.random(60, 60, 0.4, random_state=rng).toarray().astype(np.float32)
    S = np.triu(S, 1) + np.triu(S, 1).T
    merges = sparse_linkage(sparse.csr_array(S), "average")
    heights, partitions = reference.agglomerate(S, "average")
    np.testing.assert_allclose(merges.similarity, heights, atol=1e-6)
    assert reference.same_partition(cut(merges, 60, 30), partitions[29])


def test_hac_says_what_cannot_be_done():
    X = rows(20, 4, 0)
    for chosen, words in (
        (dict(n_clusters=0), "n_clusters"),
        (dict(n_clusters=3, threshold=0.5), "not both"),
        (dict(linkage="ward"), "linkage"),
        (dict(threshold="low"), "threshold"),
    ):
        with pytest.raises(kf.InputError, match=words):
            HAC(**chosen).fit(X)
    g = kf.knn_graph(np.repeat(np.eye(4), 5, axis=0) + 0.01 * np.abs(rows(20, 4, 0)), 2)
    with pytest.warns(UserWarning, match="are not reached"):
        HAC(n_clusters=1, k=2).fit(g)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("eps", "samples"), [(0.1, 3), (0.25, 5), (0.5, 2), (0.02, 1)])
def test_dbscan_is_that_of_scikit_learn_on_the_same_edges(reference, seed, eps, samples):
    g = kf.knn_graph(np.concatenate([rows(60, 4, seed), blobs(4, 15, 0.1, seed)[0][:, :4]]), 12)
    graph = g.symmetric("union")
    distances = sparse.csr_array((np.maximum(1 - graph.data, 0), graph.indices, graph.indptr), shape=graph.shape)
    theirs = sklearn_cluster.DBSCAN(eps=eps, min_samples=samples, metric="precomputed").fit(
        sparse.csr_matrix(distances)
    )
    ours = DBSCAN(eps, samples, k=12).fit(g)
    core = np.zeros(len(g), dtype=bool)
    core[theirs.core_sample_indices_] = True
    np.testing.assert_array_equal(ours.core_, core)
    assert reference.same_partition(ours.labels_[core], theirs.labels_[core])
    np.testing.assert_array_equal(ours.labels_ < 0, theirs.labels_ < 0)
    # rows at the edge of two clusters may go to either: ours to the most similar core row
    S = graph.toarray()
    for i in np.flatnonzero(~core & (ours.labels_ >= 0)):
        assert ours.labels_[i] == ours.labels_[np.where(core, S[i], -2).argmax()]


def test_finch_is_the_naive_one_at_every_level(reference):
    for seed in range(3):
        X = rows(70, 5, seed)
        found, expected = Finch().fit(X).partitions_, reference.finch(X)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert reference.same_partition(ours, theirs)
    X = rows(70, 5, 0)
    partitions = Finch().fit(X).partitions_
    np.testing.assert_array_equal(Finch(level=-1).fit_predict(X), partitions[-1])
    np.testing.assert_array_equal(Finch(level=99).fit_predict(X), partitions[-1])
    np.testing.assert_array_equal(Finch(level=-99).fit_predict(X), partitions[0])
    assert Finch().fit([[1.0, 0], [-1.0, 0]]).n_clusters_ == 1  # a mean of zero length


@pytest.mark.parametrize("seed", range(3))
def test_chinese_whispers_is_the_naive_one(seed, reference):
    g = kf.knn_graph(rows(50, 4, seed), 6)
    orders = np.random.default_rng(7)
    orders = [orders.permutation(50) for _ in range(4)]
    expected = reference.whisper(g.symmetric().toarray().astype(np.float64), np.float32(0.4), orders)
    found = ChineseWhispers(6, 0.4, iterations=4, random_state=7).fit_predict(g)
    assert reference.same_partition(found, expected)


def test_kmeans_assigns_every_row_to_its_nearest_mean():
    X, y = blobs()
    clusterer = KMeans(6, n_init=3).fit(X)
    assert kf.metrics.pairwise(y, clusterer.labels_).f > 0.99
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_array_equal((unit @ clusterer.cluster_centers_.T).argmax(axis=1), clusterer.labels_)
    np.testing.assert_array_equal(clusterer.predict(X), clusterer.labels_)
    np.testing.assert_allclose(np.linalg.norm(clusterer.cluster_centers_, axis=1), 1, atol=1e-5)
    with pytest.raises(kf.InputError, match="n_clusters"):
        KMeans(91).fit(X)


@pytest.mark.parametrize(
    "clusterer", [Leiden(k=8), Leiden(k=8, objective="cpm", resolution=0.3), Infomap(k=8), HDBSCAN()]
)
def test_programs_of_others_find_what_is_plain(clusterer):
    X, y = blobs()
    assert kf.metrics.bcubed(y, clusterer.fit_predict(X)).f > 0.95


def test_leiden_modularity_is_that_of_igraph():
    g = kf.knn_graph(blobs(noise=0.4)[0], 8)
    pytest.importorskip("igraph")
    graph = g.to_igraph()
    weights = np.maximum(graph.es["weight"], 0)
    ours = graph.modularity(Leiden(k=8, iterations=-1).fit_predict(g), weights=weights)
    assert ours >= graph.community_multilevel(weights=weights).modularity - 0.01


def test_infomap_leaves_rows_without_an_edge_alone():
    X = np.concatenate([blobs()[0], -np.ones((1, 12))])
    labels = Infomap(k=5, threshold=0.5).fit_predict(X)
    assert np.count_nonzero(labels == labels[-1]) == 1
    assert Infomap(k=5, threshold=2.0).fit(X).n_clusters_ == 91
    assert Infomap(k=5, threshold=None).fit(X).n_clusters_ < 91
    with pytest.raises(kf.InputError, match="threshold"):
        Infomap(threshold="some").fit(X)


@pytest.mark.parametrize(("kind", "package"), [(Leiden, "leidenalg"), (Infomap, "infomap")])
def test_a_missing_package_is_named_with_the_command(monkeypatch, kind, package):
    real = builtins.__import__

    def absent(name, *rest):
        if name == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    extra = "leiden" if kind is Leiden else "infomap"
    with pytest.raises(kf.MissingExtraError, match=rf'pip install "kinfolk\[{extra}\]"'):
        kind().fit(rows(10, 3, 0))


def mutual_reachability(unit, samples):
    """The similarities that HDBSCAN links by, looked up one by one."""
    cosines = unit @ unit.T
    core = [sorted([1.0, *np.delete(row, i)], reverse=True)[samples - 1] for i, row in enumerate(cosines)]
    return np.array([[min(c, core[i], core[j]) for j, c in enumerate(row)] for i, row in enumerate(cosines)])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(12, 60), st.integers(2, 9), st.integers(1, 9))
def test_hdbscan_is_that_of_scikit_learn_where_all_pairs_count(seed, n, smallest, samples):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, 6))[rng.integers(0, 4, n)] + rng.uniform(0.1, 0.8) * rng.standard_normal((n, 6))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    reached = mutual_reachability(unit, samples)
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(hdbscan._dense_reachability(unit, samples - 1)[off], reached[off], atol=1e-6)
    g = kf.knn_graph(X, n - 1)
    expected = np.take_along_axis(reached, g.indices, axis=1)
    np.testing.assert_allclose(hdbscan._reachability(g, samples - 1), expected, atol=1e-6)
    # a row is as far from several others as its core is: what it joins first would be left open
    ties = np.triu(rng.uniform(0, 1e-4, (n, n)), 1)
    reached -= ties + ties.T
    distances = np.sqrt(np.maximum(2 - 2 * reached, 0)) * (1 - np.eye(n))
    slow = sklearn_cluster.HDBSCAN(min_cluster_size=smallest, min_samples=1, metric="precomputed", copy=True)
    merges = dense_linkage(reached, "single")
    density = 1 / np.sqrt(2 - 2 * merges.similarity.astype(np.float64))
    found = hdbscan.stable_clusters(n, merges.left, merges.right, density, smallest)
    np.testing.assert_array_equal(by_size(found), by_size(slow.fit_predict(distances)))


@pytest.mark.parametrize(("smallest", "samples"), [(2, 2), (5, 1), (5, 5), (10, 15)])
def test_hdbscan_finds_what_scikit_learn_finds(smallest, samples):
    fs = kf.datasets.person_like(40, seed=1)
    unit = fs.features.astype(np.float64) / np.linalg.norm(fs.features, axis=1, keepdims=True)
    known = sklearn_cluster.HDBSCAN(min_cluster_size=smallest, min_samples=samples, copy=True).fit_predict(unit)
    found = HDBSCAN(smallest, samples).fit_predict(fs)
    assert kf.metrics.ari(known + 1, found + 1) > 0.97  # but for ties


def test_hdbscan_on_the_graph_of_many_rows_finds_nearly_what_all_pairs_say(monkeypatch):
    fs = kf.datasets.celeb_like(24)
    exact = HDBSCAN().fit_predict(fs)
    monkeypatch.setattr(hdbscan, "EXACT_ROWS", 100)
    assert kf.metrics.ari(exact, HDBSCAN().fit_predict(fs)) > 0.9


def test_hdbscan_takes_parts_without_an_edge_between_them_apart():
    X = np.concatenate([np.eye(3)[0] + 0.01 * rows(8, 3, 0), np.eye(3)[1] + 0.01 * rows(8, 3, 1)])
    labels = HDBSCAN(4).fit_predict(kf.knn_graph(X, 4))
    np.testing.assert_array_equal(labels, [0] * 8 + [1] * 8)
    assert HDBSCAN(4).fit(np.repeat(np.eye(3), 6, axis=0)).n_clusters_ == 3  # rows that are the same


@pytest.mark.parametrize(
    ("clusterer", "sentence"),
    [
        (HDBSCAN(1), "min_cluster_size must be 2 or more"),
        (HDBSCAN(5, 0), "min_samples must be 1 or more"),
        (HDBSCAN(5, 8), "min_samples=8 needs a graph of 7 neighbours, this one has 5"),
    ],
)
def test_hdbscan_says_what_it_cannot_do(clusterer, sentence):
    with pytest.raises(kf.InputError, match=sentence):
        clusterer.fit(kf.knn_graph(blobs()[0], 5))
