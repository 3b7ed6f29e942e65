"""Kin: enhanced once, k from the graph or from labels, real sets."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kinfolk as kf
from kinfolk.cluster import Kin
from kinfolk.cluster.kin import distinct_rows
from kinfolk.kinship import KinshipNetwork
from kinfolk.kinship.choose_k import k_for_clusters, neighbors_to_choose


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
    twice = Kin().fit(kf.FeatureSet(Z))
    np.testing.assert_array_equal(Kin().fit_predict(Z), twice.labels_)
    again = kf.GraphEnhancer(show_progress=False).fit_transform(Z, nearest_scale=False)
    np.testing.assert_array_equal(Kin(enhancer=None).fit_predict(again), twice.labels_)


@pytest.mark.parametrize("times", [3, 5])
def test_exact_copies_do_not_change_the_clusters(faces, times):
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(faces)), times))
    first = {row: place for place, row in reversed(list(enumerate(order.tolist())))}
    once = Kin().fit_predict(faces.take(np.array(sorted(first, key=first.get))))
    place = {row: number for number, row in enumerate(sorted(first, key=first.get))}
    found = Kin().fit_predict(faces.features[order])
    assert kf.metrics.ari(once[[place[row] for row in order.tolist()]], found) == 1


def test_copies_of_one_row_are_one_cluster(faces):
    assert Kin().fit(np.ones((100, 8))).labels_.tolist() == [0] * 100
    crowd = np.concatenate([faces.features, np.repeat(faces.features[:1], 801, axis=0)])
    assert len(set(Kin().fit_predict(crowd)[len(faces) :])) == 1


def test_distinct_rows_against_a_dictionary():
    rows = np.random.default_rng(0).integers(-1, 2, (200, 3)).astype(np.float32) * np.float32(-0.5)
    seen: dict[tuple[float, ...], int] = {}
    expected = [seen.setdefault(tuple(row), len(seen)) for row in rows.tolist()]
    first, copy_of = distinct_rows(rows)
    assert copy_of.tolist() == expected
    assert first.tolist() == [expected.index(number) for number in range(len(seen))]


def test_near_duplicates_are_enhanced_as_everything_is(faces):
    # albums are full of bursts: that rows nearly coincide with a neighbour does not mean that somebody enhanced them
    burst = np.repeat(np.asarray(faces.features), 3, axis=0)
    burst = burst + 1e-3 * np.random.default_rng(0).standard_normal(burst.shape)
    enhanced = kf.GraphEnhancer(show_progress=False).fit_transform(burst, nearest_scale=False)
    np.testing.assert_array_equal(Kin().fit_predict(burst), Kin(enhancer=None).fit_predict(enhanced))


def test_a_fitted_enhancer_is_used_and_others_are_refused(faces):
    enhancer = kf.GraphEnhancer(k=20, show_progress=False).fit(faces)
    found = Kin(enhancer).fit_predict(faces)
    assert enhancer.propagation_.nearest, "the enhancer itself is left as it was"
    enhancer.propagation_ = replace(enhancer.propagation_, nearest=False)
    same = Kin(None).fit_predict(enhancer.transform(faces))
    assert kf.metrics.ari(found, same) > 0.999, "rows are divided by their lengths once more: the last bit may differ"
    with pytest.raises(kf.InputError, match="fitted GraphEnhancer"):
        Kin("always").fit(faces)
    with pytest.raises(NotFittedError):
        Kin(kf.GraphEnhancer()).fit(faces)


@pytest.mark.parametrize(("name", "least"), [("market1501", 0.74), ("omniglot", 0.72)])
def test_kin_beats_every_default_of_others_on_real_training_parts(shared_data, name, least):
    fs = kf.load(shared_data / f"{name}.npz").part("train")
    found = Kin().fit_predict(fs)
    assert (kf.metrics.pairwise(fs.labels, found).f + kf.metrics.bcubed(fs.labels, found).f) / 2 > least


def test_a_model_that_saw_labels_gives_the_size_of_a_class():
    fs = kf.datasets.celeb_like(30, seed=1)
    train, test = (fs.part(name).take(slice(None, None, 2)) for name in ("train", "test"))
    e = kf.GraphEnhancer(random_state=0, show_progress=False).fit(train.features)
    free = Kin(e).fit(test)
    for size in (free.k_, 1.5 * free.k_):
        e.class_size_ = size
        assert Kin(e).fit(test).k_ == round(0.8 * size)
    e.class_size_ = 10.0 * free.k_
    assert Kin(e).fit(test).k_ == free.k_
    e.class_size_ = None
    np.testing.assert_array_equal(Kin(e).fit_predict(test), free.labels_)
    Z = e.transform(test, nearest_scale=False)
    g = kf.knn_graph(Z, k=neighbors_to_choose(len(Z)))
    assert free.k_ == k_for_clusters(KinshipNetwork.shipped(), g)
