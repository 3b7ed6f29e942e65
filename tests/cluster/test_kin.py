"""Kin: classes of any size, copies, one tree, constraints, new rows, real sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import kinfolk as kf
from kinfolk.cluster import Kin
from kinfolk.cluster._internal.constraints import read_constraints


@pytest.fixture(scope="module")
def faces():
    return kf.datasets.celeb_like(20, seed=0).take(slice(None, None, 3))


def test_two_rows_are_enough():
    assert Kin().fit([[1.0, 0.0], [0.9, 0.1]]).labels_.shape == (2,)


def test_a_set_that_is_marked_as_enhanced_is_not_enhanced_again(faces):
    Z = kf.GraphEnhancer(show_progress=False).fit_transform(faces)
    once = Kin(enhancer=None).fit_predict(Z)
    np.testing.assert_array_equal(Kin().fit_predict(kf.FeatureSet(Z, enhanced=True)), once)
    enhancer = kf.GraphEnhancer(show_progress=False).fit(faces)
    np.testing.assert_array_equal(Kin(enhancer).fit_predict(kf.FeatureSet(Z, enhanced=True)), once)


@pytest.mark.parametrize("times", [3, 5])
def test_exact_copies_do_not_change_the_clusters(faces, times):
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(faces)), times))
    first = {row: place for place, row in reversed(list(enumerate(order.tolist())))}
    once = Kin().fit_predict(faces.features[sorted(first, key=first.get)])
    place = {row: number for number, row in enumerate(sorted(first, key=first.get))}
    found = Kin().fit_predict(faces.features[order])
    assert kf.metrics.ari(once[[place[row] for row in order.tolist()]], found) == 1


def test_copies_of_one_row_are_one_cluster(faces):
    assert Kin().fit(np.ones((100, 8))).labels_.tolist() == [0] * 100
    crowd = np.concatenate([faces.features, np.repeat(faces.features[:1], 801, axis=0)])
    assert len(set(Kin().fit_predict(crowd)[len(faces) :])) == 1


def test_near_copies_are_together_and_change_little(faces):
    rng = np.random.default_rng(0)
    burst = np.repeat(np.asarray(faces.features), 3, axis=0)
    burst = burst + 1e-4 * rng.standard_normal(burst.shape)
    found = Kin().fit_predict(burst)
    assert (found.reshape(-1, 3) == found[::3, None]).all()
    assert kf.metrics.ari(Kin().fit_predict(burst[::3]), found[::3]) > 0.98


def test_a_fitted_enhancer_is_used_and_others_are_refused(faces):
    enhancer = kf.GraphEnhancer(k=20, show_progress=False).fit(faces)
    Kin(enhancer).fit_predict(faces)
    assert enhancer.propagation_.nearest, "the enhancer itself is left as it was"
    with pytest.raises(kf.InputError, match="fitted GraphEnhancer"):
        Kin("always").fit(faces)
    with pytest.raises(NotFittedError):
        Kin(kf.GraphEnhancer()).fit(faces)


@pytest.mark.parametrize("name", ["market1501", "omniglot"])
def test_kin_beats_the_defaults_of_others_on_real_training_parts(shared_data, name):
    fs = kf.load(shared_data / f"{name}.npz").part("train")
    X, truth = fs.features, fs.labels

    def score(found):
        found = np.where(found < 0, found.max() + 1 + np.arange(len(found)), found)
        return (kf.metrics.pairwise(truth, found).f + kf.metrics.bcubed(truth, found).f) / 2

    others = (kf.cluster.HAC, kf.cluster.HDBSCAN, kf.cluster.ChineseWhispers)
    assert score(Kin().fit_predict(X)) > max(score(other().fit_predict(X)) for other in others)


SEPARATED = [(3, 400, 16), (30, 40, 64), (150, 6, 64), (1, 300, 32)]


@pytest.mark.parametrize(("classes", "size", "d"), SEPARATED)
def test_separated_classes_of_any_size_are_found(classes, size, d):
    rng = np.random.default_rng(classes)
    truth = np.repeat(np.arange(classes), size)
    X = rng.standard_normal((classes, d))[truth] + 0.35 * rng.standard_normal((len(truth), d))
    found = Kin().fit_predict(X)
    assert (kf.metrics.pairwise(truth, found).f + kf.metrics.bcubed(truth, found).f) / 2 > 0.97


def test_strangers_are_loners():
    found = Kin().fit_predict(np.random.default_rng(0).standard_normal((300, 128)))
    assert len(np.unique(found)) > 270


def test_a_few_large_classes_among_small_ones(shared_data):
    fs = kf.load(shared_data / "clinc150.npz").part("train")
    found = []
    for draw in range(3):  # one alone may be cut too finely: its mean says more
        order = np.random.default_rng(draw).permutation(np.unique(fs.labels))
        sizes = {label: 120 if place < 5 else 8 for place, label in enumerate(order)}
        rows = np.concatenate([np.flatnonzero(fs.labels == label)[:size] for label, size in sizes.items()])
        few = fs.take(np.sort(rows))
        found.append(kf.metrics.bcubed(few.labels, Kin().fit_predict(few)).f)
    assert np.mean(found) > 0.68


def test_cuts_are_nested_and_the_middle_one_is_the_labels(faces):
    kin = Kin().fit(faces)
    np.testing.assert_array_equal(kin.cut(), kin.labels_)
    finer = kin.cut(1)
    for probability in np.linspace(1, 0, 21):
        coarser = kin.cut(probability)
        assert len(set(zip(finer.tolist(), coarser.tolist(), strict=True))) == finer.max() + 1
        finer = coarser
    assert finer.max() == 0
    for wrong in (-0.1, 1.5, "half", float("nan")):
        with pytest.raises(kf.InputError, match="probability"):
            kin.cut(wrong)


def test_every_row_has_a_probability_and_a_second_choice(faces):
    kin = Kin().fit(faces)
    assert ((kin.probabilities_ > 0) & (kin.probabilities_ <= 1)).all()
    assert ((kin.second_ >= -1) & (kin.second_ < kin.n_clusters_) & (kin.second_ != kin.labels_)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_constraints_hold_at_every_cut(faces, seed):
    rng = np.random.default_rng(seed)
    few = faces.take(np.sort(rng.choice(len(faces), 60, replace=False)))
    X = np.concatenate([few.features, few.features[:5]])  # with copies
    must, cannot = rng.integers(0, 65, (rng.integers(0, 20), 2)), rng.integers(0, 65, (rng.integers(0, 20), 2))
    together = read_constraints(65, must).together
    cannot = cannot[together[cannot[:, 0]] != together[cannot[:, 1]]]
    kin = Kin(must_link=must, cannot_link=cannot).fit(X)
    np.testing.assert_array_equal(kin.cut(0.5), kin.labels_)
    for probability in (0, 0.2, 0.5, 0.8, 1):
        found = kin.cut(probability)
        assert (found[must[:, 0]] == found[must[:, 1]]).all()
        assert (found[cannot[:, 0]] != found[cannot[:, 1]]).all()


def test_contradictions_are_named(faces):
    with pytest.raises(kf.InputError, match=r"rows 0 and 2 .*\(0, 1\), \(1, 2\)"):
        Kin(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)]).fit(faces)
    with pytest.raises(kf.InputError, match="max_size=2"):
        Kin(must_link=[(0, 1), (1, 2)], max_size=2).fit(faces)


def test_no_cut_has_clusters_above_the_limit(faces):
    kin = Kin(max_size=4, must_link=[(0, 9)]).fit(faces)
    for probability in (0, 0.5, 1):
        found = kin.cut(probability)
        assert np.bincount(found).max() <= 4
        assert found[0] == found[9]
    np.testing.assert_array_equal(kin.cut(0.5), kin.labels_)


def test_new_rows_join_their_kin_and_strangers_nobody(faces):
    fs = kf.datasets.celeb_like(30, seed=3)
    new = np.arange(len(fs)) % 6 == 0
    kin = Kin().fit(fs.features[~new])
    np.testing.assert_array_equal(kin.predict(fs.features[~new]), kin.labels_)
    found = kin.predict(fs.features[new])
    labels = fs.labels[~new]
    main = np.array([np.bincount(labels[kin.labels_ == c]).argmax() for c in range(kin.n_clusters_)])
    assert (np.where(found >= 0, main[found], -1) == fs.labels[new]).mean() > 0.85
    strangers = np.random.default_rng(0).standard_normal((50, fs.features.shape[1]))
    assert (kin.predict(strangers) < 0).mean() > 0.8


def test_new_rows_of_one_known_row():
    kin = Kin().fit([[1.0, 2.0]])
    assert kin.predict([[2.0, 4.0], [2.0, -1.0]]).tolist() == [0, -1]
    assert kin.cut(0.3).tolist() == [0]
    assert kin.probabilities_.tolist() == [1]


@pytest.mark.parametrize("max_size", [None, 4])
def test_the_medoid_of_each_cluster_is_the_row_nearest_to_its_mean(faces, max_size):
    kin = Kin(max_size=max_size).fit(faces)
    X = np.asarray(faces.features, dtype=np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert kin.medoids_.shape == (kin.n_clusters_,)
    np.testing.assert_array_equal(kin.labels_[kin.medoids_], np.arange(kin.n_clusters_))
    for cluster, medoid in enumerate(kin.medoids_.tolist()):
        near = X @ X[kin.labels_ == cluster].sum(axis=0)
        assert near[medoid] >= near[kin.labels_ == cluster].max() - 1e-5


def test_the_purity_to_expect_is_the_mean_of_the_probabilities(faces):
    kin = Kin().fit(faces)
    assert kin.expected_purity_ == pytest.approx(kin.probabilities_.mean())
    main = [np.bincount(faces.labels[kin.labels_ == c]).max() for c in range(kin.n_clusters_)]
    assert abs(kin.expected_purity_ - sum(main) / len(faces)) < 0.15


def test_one_row_and_copies_of_one_have_a_medoid():
    for X in ([[1.0, 2.0]], np.ones((7, 3))):
        kin = Kin().fit(X)
        assert kin.medoids_.tolist() == [0]
        assert kin.expected_purity_ == 1
