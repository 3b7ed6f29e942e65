"""kinfolk similarity."""

import json

import numpy as np
import pytest
from scipy import sparse

import kinfolk as kf


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    path = tmp_path_factory.mktemp("similarity") / "x.npz"
    labels = np.repeat(np.arange(10), 6)
    X = np.eye(10)[labels] + 0.2 * np.random.default_rng(0).standard_normal((60, 10))
    kf.FeatureSet(X, labels=labels).save(path)
    return path


def test_the_kept_edges_are_written_and_their_noise_is_printed(kinfolk, features, tmp_path):
    code, out, _ = kinfolk("similarity", features, "--k", 5, "-o", tmp_path / "clean.npz", "--json")
    assert code == 0
    fs = kf.load(features)
    expected = kf.prune(kf.knn_graph(fs, 5), y=fs.labels)
    assert abs(sparse.load_npz(tmp_path / "clean.npz") - expected.graph).max() == 0
    assert json.loads(out)["edge_noise_after"] == pytest.approx(expected.noise_after, abs=1e-4)


def test_k_is_chosen_unless_it_is_given(kinfolk, features):
    fs = kf.load(features)
    assert json.loads(kinfolk("similarity", features, "--json")[1])["k"] == kf.choose_k(kf.knn_graph(fs, 59))


def test_the_threshold_may_be_a_number_or_that_of_the_theory(kinfolk, features, tmp_path):
    fs = kf.load(features)
    wanted = kf.theory.labelled_threshold(kf.knn_graph(fs, 8), fs.labels)
    for text, number in (("0.25", 0.25), ("theory", wanted)):
        _, out, _ = kinfolk("similarity", features, "--k", 8, "--threshold", text, "--json")
        assert json.loads(out)["threshold"] == pytest.approx(number, abs=1e-4)
    kf.FeatureSet(fs.features).save(tmp_path / "unlabelled.npz")
    code, _, err = kinfolk("similarity", tmp_path / "unlabelled.npz", "--k", 8, "--threshold", "theory")
    assert code == 2
    assert "a threshold from theory needs labels" in err


def test_a_pair_is_explained(kinfolk, features):
    code, out, _ = kinfolk("similarity", features, "--k", 5, "--explain", 0, 1)
    assert code == 0
    assert out == f"{kf.explain(kf.knn_graph(kf.load(features), 5), 0, 1)}\n"


def test_an_explanation_for_machines_is_one_json_object(kinfolk, features):
    code, out, _ = kinfolk("similarity", features, "--k", 5, "--explain", 0, 1, "--json")
    tests = kf.explain(kf.knn_graph(kf.load(features), 5), 0, 1)
    read = json.loads(out)
    assert (code, read["first"], read["second"], read["sim_m"]) == (0, 0, 1, tests.sim_m)
    assert read["vouchers"] == [voucher._asdict() for voucher in tests.vouchers]
    assert read["failed"] == [failed._asdict() for failed in tests.failed]


def test_a_pair_is_explained_by_its_names(kinfolk, features, tmp_path):
    names = [f"{row}.jpg" for row in range(57)] + ["3", "twice.jpg", "twice.jpg"]
    kf.FeatureSet(kf.load(features).features, names=names).save(tmp_path / "named.npz")

    def explained(first, second):
        return kinfolk("similarity", tmp_path / "named.npz", "--k", 5, "--explain", first, second)

    assert explained("4.jpg", "3")[1].startswith("rows 4 and 57:")
    assert explained("4.jpg", "5")[1].startswith("rows 4 and 5:")
    code, out, err = explained("4.jpg", "twice.jpg")
    assert (code, out) == (2, "")
    assert "2 rows have the name 'twice.jpg', the first is row 58" in err


@pytest.mark.parametrize("row", ["60", "-1", "a.jpg", "1.5"])
def test_a_row_that_is_not_there_cannot_be_explained(kinfolk, features, row):
    code, out, err = kinfolk("similarity", features, "--explain", "0", row)
    assert (code, out) == (2, "")
    assert f"--explain takes two rows from 0 to 59, not {row!r}" in err


def test_an_explanation_is_not_written_so_an_output_is_refused(kinfolk, features, tmp_path):
    code, _, err = kinfolk("similarity", features, "--explain", 0, 1, "-o", tmp_path / "clean.npz")
    assert code == 2
    assert "--explain only prints" in err


def test_a_k_larger_than_the_classes_is_noted(kinfolk, features):
    code, _, err = kinfolk("similarity", features, "--k", 40)
    assert code == 0
    assert "note: k=40 looks larger than the classes" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["--threshold", "high"], "a number, auto or theory"), (["-o", "x.csv"], "edges are written as .npz")],
)
def test_a_mistake_gets_one_sentence(kinfolk, features, arguments, sentence):
    code, out, err = kinfolk("similarity", features, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
