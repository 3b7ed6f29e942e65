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


def test_what_is_read_beside_or_by_an_option_is_never_replaced(kinfolk, features, tmp_path):
    kf.FeatureSet(features.features, labels=features.labels).save(tmp_path / "x.npy")
    features.save(tmp_path / "all.npz")
    names = tmp_path / "names.csv"
    names.write_text("name\n" + "".join(f"row {number}\n" for number in range(len(features))))
    by_hand = tmp_path / "by-hand.kf"
    by_hand.mkdir()
    np.save(by_hand / "features.npy", features.features)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    for call in (
        ("convert", "x.npy", "names.csv", "--names", "names.csv"),
        ("convert", "x.npy", "x.labels.npy"),
        ("cluster", "x.npy", "-o", "x.labels.npy"),
        ("convert", "all.npz", "x.npy", "--labels", "x.labels.npy", "--part", "test"),
        ("convert", "by-hand.kf", "by-hand.kf/features.npy"),
    ):
        paths = [tmp_path / word if "." in word else word for word in call]
        code, _, err = kinfolk(*paths, "--force")
        assert code == 2 and "read here" in err, call
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert kinfolk("convert", tmp_path / "x.npy", tmp_path / "x.bin")[0] == 0
