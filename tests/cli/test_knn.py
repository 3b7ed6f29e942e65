"""kinfolk knn as a user meets it."""

import json

import numpy as np
import pytest

import kinfolk as kf


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 5)
    X = np.eye(12)[labels] + 0.3 * rng.standard_normal((60, 12))
    file = tmp_path_factory.mktemp("knn") / "x.npz"
    kf.FeatureSet(X, labels=labels, part_index=labels % 2, part_names=("train", "test")).save(file)
    return file


@pytest.mark.parametrize("name", ["g.npz", "folder"])
def test_the_graph_is_that_of_knn_graph(kinfolk, features, tmp_path, name):
    code, out, err = kinfolk("knn", features, "--part", "test", "--k", 5, "-o", tmp_path / name, "--json")
    assert code == 0, err
    part = kf.load(features).part("test")
    expected, found = kf.knn_graph(part, 5), kf.NeighborGraph.load(tmp_path / name)
    np.testing.assert_array_equal(found.indices, expected.indices)
    facts = json.loads(out)
    assert (facts["k"], facts["method"], facts["recall"]) == (5, "exact", 1.0)
    assert facts["edge_noise_rate"] == pytest.approx(kf.metrics.edge_noise_rate(expected, part.labels), abs=1e-4)


def test_k_is_80_or_all_others(kinfolk, features, tmp_path):
    assert kinfolk("knn", features, "-o", tmp_path / "g.npz")[0] == 0
    assert kf.NeighborGraph.load(tmp_path / "g.npz").k == 59


def test_without_labels_there_is_no_noise_rate(kinfolk, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((20, 3)))
    code, out, _ = kinfolk("knn", tmp_path / "x.npy", "--k", 3, "-o", tmp_path / "g.npz", "--json")
    assert code == 0
    assert "edge_noise_rate" not in json.loads(out)


@pytest.mark.parametrize("method", ["magic", "hnsw"])
def test_other_methods_are_refused(kinfolk, features, tmp_path, method):
    code, out, err = kinfolk("knn", features, "--k", 5, "--method", method, "-o", tmp_path / "g.npz")
    assert (code, out) == (2, "")
    assert f"method must be one of auto, exact, ivf, not '{method}'" in err


def test_a_graph_is_replaced_by_force_only(kinfolk, features, tmp_path):
    assert kinfolk("knn", features, "--k", 5, "-o", tmp_path / "g.npz")[0] == 0
    code, _, err = kinfolk("knn", features, "--k", 4, "-o", tmp_path / "g.npz")
    assert code == 2
    assert "exists already" in err
    assert kinfolk("knn", features, "--k", 4, "-o", tmp_path / "g.npz", "--force")[0] == 0
    assert kf.NeighborGraph.load(tmp_path / "g.npz").k == 4
