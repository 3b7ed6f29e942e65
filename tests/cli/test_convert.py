import json

import numpy as np
import pytest

import kinfolk as kf


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 3)
    return kf.FeatureSet(
        rng.standard_normal((12, 5)),
        labels=labels,
        cameras=labels % 3,
        part_index=labels % 2,
        part_names=("train", "test"),
    )


def test_there_and_back(kinfolk, features, tmp_path):
    features.save(tmp_path / "x.npz")
    assert kinfolk("convert", tmp_path / "x.npz", tmp_path / "x.csv")[0] == 0
    code, out, _ = kinfolk("convert", tmp_path / "x.csv", tmp_path / "y.npz", "--part", "train", "--json")
    assert code == 0
    assert "left_out" not in json.loads(out)
    original, back = features.part("train"), kf.load(tmp_path / "y.npz")
    for field in ("features", "labels", "cameras"):
        np.testing.assert_array_equal(getattr(back, field), getattr(original, field))


def test_columns_that_are_lost_are_named(kinfolk, features, tmp_path):
    features.save(tmp_path / "x.npz")
    code, out, _ = kinfolk("convert", tmp_path / "x.npz", tmp_path / "x.bin", "--json")
    assert code == 0
    assert json.loads(out)["left_out"] == "cameras, part: this format has no place for it"
    assert kf.load(tmp_path / "x.bin", dim=5).labels.tolist() == features.labels.tolist()


def test_the_mark_of_enhanced_features_goes_along(kinfolk, features, tmp_path):
    kf.FeatureSet(features.features, enhanced=True).save(tmp_path / "x.npz")
    for source, target in (("x.npz", "y.npy"), ("y.npy", "z.csv"), ("z.csv", "w.kf")):
        assert kinfolk("convert", tmp_path / source, tmp_path / target)[0] == 0
    assert kf.load(tmp_path / "w.kf").enhanced


def test_what_exists_needs_force(kinfolk, features, tmp_path):
    features.save(tmp_path / "x.npz")
    assert kinfolk("convert", tmp_path / "x.npz", tmp_path / "y.npz")[0] == 0
    code, _, err = kinfolk("convert", tmp_path / "x.npz", tmp_path / "y.npz")
    assert code == 2 and "exists already" in err
    assert kinfolk("convert", tmp_path / "x.npz", tmp_path / "y.npz", "--force")[0] == 0
    code, _, err = kinfolk("convert", tmp_path / "x.npz", tmp_path / "x.npz", "--force")
    assert code == 2 and "which is read here" in err
