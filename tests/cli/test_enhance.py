"""kinfolk enhance as a user meets it: the file, the precisions, a model, a reference."""

import json

import numpy as np
import pytest

import kinfolk as kf


@pytest.fixture(scope="module")
def features():
    fs = kf.datasets.celeb_like(n_identities=12, dim=16)
    return kf.FeatureSet(np.ascontiguousarray(fs.features[::3]), labels=fs.labels[::3])


@pytest.fixture
def run(kinfolk, tmp_path, features):
    """Enhance x.npz to z.npz; give the facts it prints and the features it writes."""
    features.save(tmp_path / "x.npz")

    def enhanced(*more):
        code, out, err = kinfolk("enhance", tmp_path / "x.npz", "-o", tmp_path / "z.npz", "--json", *more)
        assert code == 0, err
        return json.loads(out), kf.load(tmp_path / "z.npz")

    return enhanced


def test_label_free_is_that_of_the_library(run, features):
    facts, found = run("-k", 8)
    expected = kf.GraphEnhancer(8, show_progress=False).fit(features).transform(features)
    np.testing.assert_array_equal(found.features, expected)
    np.testing.assert_array_equal(found.labels, features.labels)
    assert found.enhanced  # kinfolk cluster does not enhance it again
    for name, vectors in (("mAP_before", features.features), ("mAP_after", expected)):
        score = kf.metrics.mean_average_precision(vectors, features.labels)
        assert facts[name] == round(100 * score, 2)
    assert (facts["model"], facts["k"]) == ("label-free", 8)
    assert facts["mAP_of"] == f"each of {len(features):,} rows against all others"


def test_a_model_and_a_reference(run, tmp_path, features):
    enhancer = kf.GraphEnhancer(8, show_progress=False).fit(features)
    enhancer.save(tmp_path / "model")
    facts, found = run("-m", tmp_path / "model", "--reference", tmp_path / "x.npz")
    np.testing.assert_array_equal(found.features, enhancer.transform(features, reference=features))
    assert facts["k_of_the_fit"] == 8


def test_rows_of_several_parts_with_queries_have_no_common_precision(kinfolk, tmp_path):
    kf.datasets.person_like(20, seed=0).save(tmp_path / "x.npz")
    code, out, _ = kinfolk("enhance", tmp_path / "x.npz", "-o", tmp_path / "z.npz", "-k", 4, "--json")
    assert code == 0
    assert json.loads(out)["mAP"] == "not of train and test together: kinfolk evaluate --part has that of one part"


def test_without_two_rows_of_a_class_there_is_no_precision(kinfolk, tmp_path):
    kf.FeatureSet(np.eye(5, dtype=np.float32) + 0.1, labels=np.arange(5)).save(tmp_path / "x.npz")
    code, out, _ = kinfolk("enhance", tmp_path / "x.npz", "-o", tmp_path / "z.npz", "-k", 2, "--json")
    assert code == 0
    facts = json.loads(out)
    assert "mAP_before" not in facts
    assert facts["mAP"].startswith("none: retrieval scores need a class with at least two items")


def test_labels_beside_the_output_are_found_before_the_work(kinfolk, features, tmp_path, monkeypatch):
    features.save(tmp_path / "x.npz")
    np.save(tmp_path / "z.labels.npy", np.arange(3))
    monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda *_: pytest.fail("the work has begun"))
    code, _, err = kinfolk("enhance", tmp_path / "x.npz", "-o", tmp_path / "z.npy", "--force")
    assert code == 2 and "z.labels.npy is there without z.npy" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npz", "z.labels.npy"]
