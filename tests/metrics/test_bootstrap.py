"""Intervals over identities, and comparisons of two results."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.metrics import bootstrap, clustering_scores, compare, resampled, retrieval_scores


def test_a_perfect_clustering_stays_perfect_in_every_resample():
    y = np.repeat(np.arange(8), 4)
    for interval in bootstrap(clustering_scores(y, y + 5), resamples=50).values():
        assert interval == (1.0, 1.0, 1.0)


def random_classes(rng, classes):
    return np.repeat(np.arange(classes), rng.integers(2, 9, classes))


def random_clusters(rng, y):
    """Classes that are split, more or less, and some of their items astray in a cluster of another class."""
    classes = y.max() + 1
    p = 2 * y + (rng.random(len(y)) < 0.6 * rng.random(classes)[y])
    strays = rng.random(len(y)) < 0.08
    p[strays] = 2 * rng.integers(classes, size=strays.sum())
    return p


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """The truth: what is expected of another set of as many identities, the mean over all of these sets."""
    rng = np.random.default_rng(1)
    sets = []
    for _ in range(150):
        y = random_classes(rng, 80)
        sets.append(clustering_scores(y, random_clusters(rng, y)))
    values = [scores.values() for scores in sets]
    found = [bootstrap(scores, resamples=100, level=0.9, seed=seed) for seed, scores in enumerate(sets)]
    for name in sets[0].names:
        truth = np.mean([value[name] for value in values])
        held = np.mean([intervals[name].low <= truth <= intervals[name].high for intervals in found])
        cautious = "precision" in name or name == "homogeneity"
        assert 0.82 <= held <= (1 if cautious else 0.97), (name, held)


def test_intervals_are_drawn_by_seed_and_widen_with_the_level():
    rng = np.random.default_rng(3)
    y = random_classes(rng, 40)
    scores = clustering_scores(y, random_clusters(rng, y))
    found = bootstrap(scores, 200)
    assert found == bootstrap(scores, 200)
    assert found != bootstrap(scores, 200, seed=1)
    narrow = bootstrap(scores, 200, level=0.5)
    for name, interval in found.items():
        assert interval.low <= narrow[name].low <= narrow[name].high <= interval.high
        assert interval.low < interval.value < interval.high


def test_resamples_are_the_scores_of_the_drawn_identities():
    rng = np.random.default_rng(6)
    y = random_classes(rng, 20)
    scores = clustering_scores(y, random_clusters(rng, y))
    found = resampled(scores, resamples=3, seed=8)
    draws = np.random.default_rng(8)
    for r in range(3):
        weights = np.zeros(20)
        for identity in draws.integers(20, size=20):
            weights[identity] += 1
        assert [found[name][r] for name in scores.names] == scores.at(weights).tolist()


def test_a_comparison_tells_a_real_difference_from_chance():
    rng = np.random.default_rng(4)
    y = random_classes(rng, 300)
    p = random_clusters(rng, y)
    better = np.where(rng.random(len(y)) < 0.5, 2 * y, p)
    found = compare(clustering_scores(y, better), clustering_scores(y, p), resamples=300)["bcubed_f"]
    assert found.real
    assert found.value == pytest.approx(found.first - found.second)
    assert found.low < found.value < found.high
    assert "the first is higher" in str(found)
    back = compare(clustering_scores(y, p), clustering_scores(y, better), resamples=300)["bcubed_f"]
    assert back.value == -found.value
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))
    assert "the second is higher" in str(back)
    as_good = compare(clustering_scores(y, p), clustering_scores(y, random_clusters(rng, y)), resamples=300)["bcubed_f"]
    assert not as_good.real
    assert "not told apart from chance" in str(as_good)


def test_a_paired_comparison_is_sharper_than_two_intervals():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 30, 300)
    X = np.eye(30)[y] + 0.5 * rng.standard_normal((300, 30))
    better = 0.95 * X + 0.05 * np.eye(30)[y]
    one, two = retrieval_scores(better, y), retrieval_scores(X, y)
    difference = compare(one, two, resamples=200)["map"]
    alone = bootstrap(one, resamples=200)["map"]
    assert difference.real
    assert difference.high - difference.low < (alone.high - alone.low) / 2


def test_what_cannot_be_resampled_or_compared_is_refused():
    scores = clustering_scores([0, 0, 1], [0, 0, 1])
    with pytest.raises(kf.InputError, match="at least two"):
        bootstrap(clustering_scores([0, 0], [0, 1]))
    with pytest.raises(kf.InputError, match="resamples"):
        bootstrap(scores, resamples=0)
    with pytest.raises(kf.InputError, match="level"):
        bootstrap(scores, level=95)
    with pytest.raises(kf.InputError, match="same rows"):
        compare(scores, clustering_scores([0, 1, 1], [0, 0, 1]))
    with pytest.raises(kf.InputError, match=r"same scores; the first has .*bcubed_f.*, the second map, "):
        compare(scores, retrieval_scores(np.eye(3) + 0.1, [0, 0, 1]))
