"""The graph without unlikely edges, and the threshold that nobody has to guess."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.similarity import TooManyNeighborsWarning, auto_threshold

NAMES, KS = ("clinc150", "banking77", "omniglot", "market1501"), (10, 20, 40, 80)
FAST = (("omniglot", 10), ("market1501", 20))  # the largest loss, and a small one


def pair_f(keep, same):
    return 2 * (keep & same).sum() / (keep.sum() + same.sum())


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


def test_the_labels_may_be_words():
    fs = kf.datasets.celeb_like(10, seed=1)
    g = kf.knn_graph(fs, k=20)
    words = np.array([f"person {label}" for label in fs.labels], dtype=object)  # as a column of pandas has them
    assert kf.prune(g, 0.2, y=words).noise_after == kf.prune(g, 0.2, y=fs.labels).noise_after
    with pytest.raises(kf.InputError, match="one label a row was expected"):
        kf.prune(g, 0.2, y=words[1:])


def test_too_large_a_k_is_warned_of():
    rows = np.eye(20).repeat(8, axis=0) + 0.1 * np.random.default_rng(0).random((160, 20))
    with pytest.warns(TooManyNeighborsWarning, match="k=40 looks larger than the classes"):
        kf.prune(kf.knn_graph(rows, k=40))


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(kf.InputError, match="threshold must be a number or 'auto', not 'theory'"):
        kf.prune(kf.knn_graph(np.eye(4), 2), "theory")


def test_the_result_prints_what_was_kept():
    fs = kf.datasets.digits()
    cleaner = kf.prune(kf.knn_graph(fs, k=10), 0.2, y=fs.labels)
    assert repr(cleaner).startswith(f"Pruned(kept {cleaner.keep.sum():,} of 17,970 edges, threshold 0.200, noise ")
    assert "noise" not in repr(kf.prune(kf.knn_graph(fs, k=10), 0.2))


def test_the_threshold_without_labels_is_close_to_the_best_with_them():
    fs = kf.datasets.digits()
    assert loss(fs, 20) < 0.01


@pytest.mark.parametrize(
    ("name", "k"),
    [pytest.param(name, k, marks=() if (name, k) in FAST else pytest.mark.slow) for name in NAMES for k in KS],
)
def test_the_threshold_without_labels_is_within_three_points_of_the_best_on_real_sets(shared_data, name, k):
    assert loss(kf.load(shared_data / f"{name}.npz").part("test"), k) < 0.03


def loss(fs, k):
    """How far the F-score of the kept edges lies below that of the best threshold, which sees the labels."""
    g = kf.knn_graph(fs, k=k)
    same = fs.labels[g.indices] == fs.labels[:, None]
    scores = kf.sim_m(g)
    best = max(pair_f(scores >= cut, same) for cut in np.linspace(0, 0.5, 101))
    return best - pair_f(scores >= auto_threshold(g), same)
