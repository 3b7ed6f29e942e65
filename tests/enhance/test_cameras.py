"""What cameras add to their pictures."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.enhance.cameras import FEW_ROWS, Cameras, cameras_of
from kinfolk.features import unit_rows


def people(cameras: int = 3, light: float = 0.15, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of 30 people, seen 6 times by each camera, who they are, and the cameras."""
    rng = np.random.default_rng(seed)
    who = np.arange(30).repeat(6 * cameras)
    camera = np.tile(np.arange(cameras), len(who) // cameras)
    noise = 0.12 * rng.standard_normal((len(who), 40))
    added = light * rng.standard_normal((cameras, 40))
    rows = rng.standard_normal((30, 40))[who] / np.sqrt(40) + added[camera] / 2 + noise
    return unit_rows(rows), who, camera


def test_each_camera_loses_its_mean_as_far_as_it_has_rows():
    X, _, camera = people()
    camera = camera + 7
    found = cameras_of(X, camera)
    for number, added in zip(found.numbers, found.added, strict=True):
        own = X[camera == number]
        expected = (own.mean(axis=0) - X.mean(axis=0)) * len(own) / (len(own) + FEW_ROWS)
        np.testing.assert_allclose(added, expected, atol=1e-6)
    left = found.without(X, camera)
    np.testing.assert_allclose(left[5], X[5] - found.added[camera[5] - 7], atol=1e-7)


def test_rows_of_a_camera_nobody_knows_stay_as_they_are():
    few = Cameras(np.array([2, 5]), np.ones((2, 3), dtype=np.float32))
    rows = np.zeros((4, 3), dtype=np.float32)
    np.testing.assert_array_equal(few.without(rows, np.array([1, 2, 5, 9]))[:, 0], [0, -1, -1, 0])


def test_cameras_that_see_things_of_their_own_are_left_alone():
    X, who, _ = people(light=0.0)
    assert cameras_of(X, who % 3) is None
    assert cameras_of(X, np.zeros(len(X), dtype=np.int64)) is None
    assert cameras_of(X, None) is None


@pytest.mark.parametrize("n", [2, 3, 5])
def test_small_sets(n):
    X = unit_rows(np.random.default_rng(0).standard_normal((n, 4)))
    found = cameras_of(X, np.arange(n) % 2)
    assert found is None or np.isfinite(found.added).all()


def test_features_and_clusters_are_better_with_cameras_than_without():
    X, who, camera = people()
    known = kf.FeatureSet(X, labels=who, cameras=camera)
    plain, better = (kf.GraphEnhancer().fit(rows).transform(rows) for rows in (X, known))
    score = kf.metrics.mean_average_precision
    assert score(better, who) > score(plain, who)
    kin = kf.cluster.Kin().fit(known)
    assert kf.metrics.bcubed(who, kin.labels_).f >= kf.metrics.bcubed(who, kf.cluster.Kin().fit(X).labels_).f
    np.testing.assert_array_equal(kin.predict(known), kin.labels_)


def test_a_reference_says_what_the_cameras_of_new_rows_add():
    X, who, camera = people()
    known = kf.FeatureSet(X, labels=who, cameras=camera)
    e = kf.GraphEnhancer().fit(known)
    one = kf.FeatureSet(X[3:4], cameras=camera[3:4])
    np.testing.assert_allclose(e.transform(one, reference=known), e.transform(known, reference=known)[3:4], atol=1e-5)


def test_the_paper_knows_no_cameras():
    X, who, camera = people()
    known = kf.FeatureSet(X, labels=who, cameras=camera)
    e = kf.GraphEnhancer(k=5, recipe="paper").fit(X)
    np.testing.assert_array_equal(e.transform(known), e.transform(X))
