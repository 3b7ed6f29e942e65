"""kinfolk train as a user meets it: the model folder, the curves, the numbers, what is refused."""

import json

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.enhance import KeptTrainingFreeWarning


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    fs = kf.datasets.celeb_like(n_identities=12, dim=16)
    path = tmp_path_factory.mktemp("train") / "x.npz"
    kf.FeatureSet(np.ascontiguousarray(fs.features[::3]), labels=fs.labels[::3]).save(path)
    return path


@pytest.fixture
def train(kinfolk, tmp_path, features):
    """Run a short training of the sub-graph model; give its exit code, output and errors."""
    return lambda *more: kinfolk(
        "train", features, "-o", tmp_path / "model", "-k", 8, "--base", "transformer", "--steps", 2, *more
    )


def test_the_model_is_that_of_the_library(train, tmp_path, features):
    code, out, _ = train("--seed", 3, "--json")
    assert code == 0
    facts = json.loads(out)
    fs = kf.load(features)
    enhancer = kf.GraphEnhancer(8, base="transformer", steps=2, random_state=3, show_progress=False)
    with pytest.warns(KeptTrainingFreeWarning) as kept:  # two steps do not help
        expected = enhancer.fit(fs, fs.labels).transform(fs)
    assert facts["note"] == str(kept[0].message)
    np.testing.assert_array_equal(kf.GraphEnhancer.load(tmp_path / "model").transform(fs), expected)
    assert (facts["k"], facts["trained"], facts["written"]) == (8, enhancer.trained_, str(tmp_path / "model"))
    assert facts["held_back_mAP_trained"] == round(100 * enhancer.scores_["trained"], 2)


def test_curves_and_checkpoints_are_written(train, tmp_path):
    code, _, err = train("--curves", tmp_path / "curves.svg", "--checkpoint-dir", tmp_path / "checkpoints")
    assert code == 0, err
    assert (tmp_path / "curves.svg").read_text().lstrip().startswith("<svg")
    names = {file.name for file in (tmp_path / "checkpoints").iterdir()}
    assert names == {"encoder.safetensors", "manifest.json", "training-log.csv"}


def test_an_existing_model_is_kept_unless_forced(train, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "note.txt").touch()
    code, _, err = train()
    assert code == 2 and "model" in err
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["note.txt"]


def test_features_without_labels_are_refused(kinfolk, tmp_path):
    kf.FeatureSet(np.eye(5, dtype=np.float32)).save(tmp_path / "x.npz")
    code, _, err = kinfolk("train", tmp_path / "x.npz", "-o", tmp_path / "model")
    assert code == 2 and "no labels to learn from" in " ".join(err.split())
