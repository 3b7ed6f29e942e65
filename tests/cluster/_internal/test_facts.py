"""Facts about a clustering against slow, obvious counts; a large set is sampled."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal import facts as module
from kinfolk.cluster._internal.facts import COUNT, agreement, facts, random_pairs, scene


@pytest.fixture(scope="module")
def people():
    fs = kf.datasets.celeb_like(12, seed=0)
    g = kf.knn_graph(fs.features, 64, show_progress=False)
    X = np.asarray(fs.features)
    return X, np.unique(fs.labels, return_inverse=True)[1], scene(X, g.indices, g.similarities)


def test_similarity_to_clusters_against_loops(people):
    X, labels, s = people
    a, b, which = module.similarity_to_clusters(s, labels, np.bincount(labels))
    for row in range(0, len(X), 17):
        own = [X[row] @ X[other] for other in np.flatnonzero(labels == labels[row]) if other != row]
        assert a[row] == pytest.approx(np.mean(own) if own else s.similarities[row, 0], abs=1e-4)
        seen = dict.fromkeys(labels[s.indices[row]].tolist())
        seen.pop(labels[row], None)
        means = [(X[labels == c] @ X[row]).mean() for c in list(seen)[: module.MOST_CLUSTERS]]
        assert b[row] == pytest.approx(max(means, default=s.mean), abs=1e-4)
        assert which[row] == (list(seen)[int(np.argmax(means))] if means else -1)


def test_shared_neighbours_against_sets(people):
    X, _, s = people
    for shared, wide in zip(s.shared, module.SHARED_AT, strict=True):
        around = [{row, *s.indices[row, :wide].tolist()} for row in range(len(X))]
        for row in range(0, len(X), 23):
            for place in (0, 5, 63):
                common = around[row] & around[s.indices[row, place]]
                neighbor = s.indices[row, place]
                assert shared[row, place] == pytest.approx(len(common) / (wide + 1)), (row, neighbor)


@pytest.mark.parametrize("kind", ["truth", "alone", "one", "random"])
def test_facts_are_finite_for_any_clustering(people, kind):
    X, truth, s = people
    n = len(X)
    labels = {
        "truth": truth,
        "alone": np.arange(n),
        "one": np.zeros(n, dtype=np.int64),
        "random": np.unique(np.random.default_rng(0).integers(0, 9, n), return_inverse=True)[1],
    }[kind]
    found = facts(s, labels)
    assert found.shape == (COUNT,)
    assert np.isfinite(found).all()
    assert found[2] == pytest.approx((np.bincount(labels)[labels] == 1).mean())


def test_the_truth_looks_better_than_chance(people):
    _, truth, s = people
    chance = np.random.default_rng(0).permutation(truth)
    gap = slice(26, 31)  # quantiles of a - b
    assert (facts(s, truth)[gap] > facts(s, chance)[gap]).all()


def test_a_large_set_is_read_in_a_sample(people, monkeypatch):
    X, truth, s = people
    monkeypatch.setattr(module, "MOST_ROWS", len(X) // 2)
    g = kf.knn_graph(X, 64, show_progress=False)
    half = scene(X, g.indices, g.similarities)
    assert len(half.rows) == len(X) // 2
    assert np.abs(facts(half, truth) - facts(s, truth)).mean() < 0.15


def test_agreement_against_the_metrics():
    rng = np.random.default_rng(0)
    clusterings = [np.arange(200), np.zeros(200, int), rng.integers(0, 9, 200), rng.integers(0, 40, 200)]
    found = agreement(clusterings)
    for i, one in enumerate(clusterings):
        for j, other in enumerate(clusterings):
            f = (kf.metrics.pairwise(one, other).f + kf.metrics.bcubed(one, other).f) / 2
            assert found[i, j] == pytest.approx(1 if i == j else f, abs=1e-5)


def test_random_pairs_of_equal_rows():
    assert random_pairs(np.ones((5, 1), dtype=np.float32)) == pytest.approx((1.0, 1e-4))
