"""Facts about a clustering against slow, obvious counts; a large set is sampled."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cluster._internal import facts as module
from kinfolk.cluster._internal.facts import COUNT, facts, random_pairs, scene
from kinfolk.cluster._internal.means import sums_of


@pytest.fixture(scope="module")
def people():
    fs = kf.datasets.celeb_like(12, seed=0)
    g = kf.knn_graph(fs.features, 64, show_progress=False)
    X = np.asarray(fs.features)
    return X, np.unique(fs.labels, return_inverse=True)[1], scene(X, g.indices, g.similarities)


def test_similarity_to_clusters_against_loops(people):
    X, labels, s = people[0], people[1], people[2].view
    a, b, which = module.similarity_to_clusters(s, labels, np.bincount(labels))
    for row in range(0, len(X), 17):
        own = [X[row] @ X[other] for other in np.flatnonzero(labels == labels[row]) if other != row]
        assert a[row] == pytest.approx(np.mean(own) if own else s.similarities[row].max(), abs=1e-4)
        seen = dict.fromkeys(labels[s.indices[row]].tolist())
        seen.pop(labels[row], None)
        means = [(X[labels == c] @ X[row]).mean() for c in list(seen)[: module.MOST_CLUSTERS]]
        assert b[row] == pytest.approx(max(means, default=s.mean), abs=1e-4)
        assert which[row] == (list(seen)[int(np.argmax(means))] if means else -1)


def test_shared_neighbours_against_sets(people):
    X, _, s = people
    for shared, wide in zip(s.shared, module.SHARED_AT, strict=True):
        around = [{row, *s.view.indices[row, :wide].tolist()} for row in range(len(X))]
        for row in range(0, len(X), 23):
            for place in (0, 5, 63):
                neighbor = s.view.indices[row, place]
                assert shared[row, place] == len(around[row] & around[neighbor])


def known(s, labels):
    return facts(s, labels, sums_of(s.view.X, labels, labels.max() + 1))


def test_counts_and_quantiles_against_whole_arrays(people):
    _, labels, s = people
    labels = np.where(np.arange(len(labels)) % 5 == 0, labels.max() + 1, labels)  # some rows where they do not belong
    seen = module._tally(s, labels)
    same = labels[s.view.indices] == labels[:, None]
    assert seen.nearest.tolist() == [same[:, :nearest].sum() for nearest in module.NEAREST]
    np.testing.assert_array_equal(seen.inside, same.sum(axis=1))
    np.testing.assert_array_equal(seen.ranks, (same * np.arange(64)).sum(axis=1))
    z = s.view.units(s.view.similarities)
    for side, mask in ((0, ~same), (1, same)):
        expected = np.percentile(z[mask], module.NARROW)
        np.testing.assert_allclose(module._counted_quantiles(seen.heights[side], s.heights), expected, atol=0.05)
        for counted, shared in zip(seen.shared, s.shared, strict=True):
            np.testing.assert_array_equal(counted[side], np.bincount(shared[mask], minlength=counted.shape[1]))
    pairs = [
        np.mean([i < o for i in np.flatnonzero(row) for o in np.flatnonzero(~row)])
        for row in same
        if 0 < row.sum() < 64
    ]
    mixed, *first = module._order(seen, 64)
    assert mixed == pytest.approx(len(pairs) / len(same))
    np.testing.assert_allclose(first, np.percentile(pairs, module.NARROW), atol=1e-9)


def test_fewer_neighbours_than_are_read():
    X = np.eye(7, dtype=np.float32) + 0.2
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    g = kf.knn_graph(X, 5, show_progress=False)
    s = scene(X, g.indices, g.similarities)
    assert module._tally(s, np.zeros(7, dtype=np.int64)).nearest.tolist() == [7, 28, 35, 35]
    assert np.isfinite(known(s, np.arange(7))).all()


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
    found = known(s, labels)
    assert found.shape == (COUNT,)
    assert np.isfinite(found).all()
    assert found[2] == pytest.approx((np.bincount(labels)[labels] == 1).mean())


def test_the_truth_looks_better_than_chance(people):
    _, truth, s = people
    chance = np.random.default_rng(0).permutation(truth)
    gap = slice(26, 31)  # quantiles of a - b
    assert (known(s, truth)[gap] > known(s, chance)[gap]).all()


def test_a_large_set_is_read_in_a_sample(people, monkeypatch):
    X, truth, s = people
    monkeypatch.setattr(module, "MOST_ROWS", len(X) // 2)
    g = kf.knn_graph(X, 64, show_progress=False)
    half = scene(X, g.indices, g.similarities)
    assert len(half.view.rows) == len(X) // 2
    assert np.abs(known(half, truth) - known(s, truth)).mean() < 0.15


def test_random_pairs_of_equal_rows():
    assert random_pairs(np.ones((5, 1), dtype=np.float32)) == pytest.approx((1.0, 1e-4))
