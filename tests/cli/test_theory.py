"""kinfolk theory."""

import json

import pytest

import kinfolk as kf


def test_a_table_is_printed_and_a_plot_drawn(kinfolk, tmp_path):
    code, out, _ = kinfolk("theory", "--p", 0.8, "--q", 0.2, "--alpha", 0.8, "--plot", tmp_path / "tests.png")
    assert code == 0
    assert (tmp_path / "tests.png").stat().st_size > 5000
    assert f"{kf.theory.min_tests(0.8, 0.2, 0.8)} tests by Theorem 1" in " ".join(out.split())


def test_json_has_the_rows_of_the_table(kinfolk):
    rows = json.loads(kinfolk("theory", "--json")[1])["rows"]
    for row in rows:
        assert row["exact"] == pytest.approx(sum(kf.theory.multiple_test_errors(0.8, 0.2, 0.8, row["m"])))
    assert rows[-1]["exact"] < rows[-1]["bound"]


def test_the_quantities_are_estimated_on_labelled_data(kinfolk, tmp_path):
    digits = kf.datasets.digits()
    digits.save(tmp_path / "digits.npz")
    code, out, _ = kinfolk("theory", "--data", tmp_path / "digits.npz", "--k", 20, "--json")
    assert code == 0
    assert json.loads(out)["p"] == kf.theory.estimate(kf.knn_graph(digits, 20), digits.labels).p
    assert "the condition holds" in kinfolk("theory", "--data", tmp_path / "digits.npz")[1]
    kf.FeatureSet(digits.features).save(tmp_path / "unlabelled.npz")
    code, _, err = kinfolk("theory", "--data", tmp_path / "unlabelled.npz")
    assert code == 2
    assert "has no labels" in err


def test_a_q_above_p_is_refused(kinfolk):
    code, _, err = kinfolk("theory", "--p", 0.2, "--q", 0.8)
    assert code == 2
    assert "q < p" in err
