"""The cleaner graph and the threshold that nobody has to guess."""

import warnings

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.kinship import choose_k
from kinfolk.similarity import TooManyNeighborsWarning, auto_threshold, closure


def pair_f(keep, same):
    return 2 * (keep & same).sum() / (keep.sum() + same.sum())


def test_closure_equals_counting_over_sets():
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((40, 3)), 9)
    for k, found in zip((1, 4, 9), closure(g, (1, 4, 9)), strict=True):
        sets = [set(row[:k].tolist()) for row in g.indices]
        shares = [len(sets[i] & sets[j]) / max(k - 1, 1) for i in range(40) for j in sets[i]]
        assert found == pytest.approx(np.mean(shares))


def test_the_kept_edges_are_those_above_the_threshold():
    fs = kf.datasets.celeb_like(30, seed=1)
    g = kf.knn_graph(fs, k=20)
    cleaner = kf.prune(g, 0.2, y=fs.labels)
    np.testing.assert_array_equal(cleaner.keep, kf.sim_m(g) >= 0.2)
    assert cleaner.graph.nnz == cleaner.keep.sum()
    i, a = np.argwhere(cleaner.keep)[5]
    assert cleaner.graph[i, g.indices[i, a]] == pytest.approx(cleaner.scores[i, a])
    same = fs.labels[g.indices] == fs.labels[:, None]
    assert cleaner.noise_before == pytest.approx(1 - same.mean())
    assert cleaner.noise_after == pytest.approx(1 - same[cleaner.keep].mean())
    assert kf.prune(g, 0.2).noise_after is None
    with pytest.raises(kf.InputError, match="threshold"):
        kf.prune(g, float("nan"))


def test_the_threshold_from_theory_lies_between_the_means_of_both_kinds_of_edges():
    fs = kf.datasets.celeb_like(60, seed=0)
    g = kf.knn_graph(fs, k=20)
    same = fs.labels[g.indices] == fs.labels[:, None]
    cleaner = kf.prune(g, "theory", y=fs.labels)
    assert cleaner.scores[~same].mean() < cleaner.threshold < cleaner.scores[same].mean()
    assert cleaner.noise_after < cleaner.noise_before
    with pytest.raises(kf.InputError, match="needs labels"):
        kf.prune(g, "theory")


def test_k_follows_the_classes_and_too_large_a_k_is_warned_of():
    for size in (6, 11, 21, 41):
        rows = np.eye(15).repeat(size, axis=0) + 0.1 * np.random.default_rng(0).random((15 * size, 15))
        assert choose_k(kf.knn_graph(rows, k=60)) == size - 1
    rows = np.eye(20).repeat(8, axis=0) + 0.1 * np.random.default_rng(0).random((160, 20))
    with pytest.warns(TooManyNeighborsWarning, match="k=40 looks larger than the classes"):
        kf.prune(kf.knn_graph(rows, k=40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kf.prune(kf.knn_graph(rows, k=7))
    with pytest.raises(kf.InputError, match="at least 5"):
        choose_k(kf.knn_graph(rows, k=3))


@pytest.mark.parametrize("name", ["clinc150", "banking77", "omniglot", "market1501"])
@pytest.mark.parametrize("k", [10, 20, 40, 80])
@pytest.mark.filterwarnings("ignore::kinfolk.similarity.TooManyNeighborsWarning")
def test_the_threshold_without_labels_is_within_three_points_of_the_best_with_them(shared_data, name, k):
    test = kf.load(shared_data / f"{name}.npz").part("test")
    g = kf.knn_graph(test, k=k)
    same = test.labels[g.indices] == test.labels[:, None]
    scores = kf.sim_m(g)
    found = pair_f(scores >= auto_threshold(g), same)
    best = max(pair_f(scores >= cut, same) for cut in np.linspace(0, 0.5, 101))
    assert found > best - 0.03
