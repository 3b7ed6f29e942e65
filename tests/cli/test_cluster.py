"""kinfolk cluster: files, facts, mistakes."""

import csv
import json

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli.cluster import LEARNED, METHODS


@pytest.fixture
def features(tmp_path):
    y = np.repeat(np.arange(5), 12)
    X = np.eye(10)[y] + 0.1 * np.random.default_rng(0).standard_normal((60, 10))
    path = tmp_path / "x.npz"
    kf.FeatureSet(X, labels=y, names=[f"{i}.jpg" for i in range(60)]).save(path)
    return path


@pytest.mark.parametrize("method", METHODS)
def test_every_method_writes_its_labels(kinfolk, features, tmp_path, method):
    out = tmp_path / "clusters.csv"
    told = ["--n-clusters", 5] if method == "kmeans" else []
    told += ["--train", features, "--set", "steps=3"] if method in LEARNED else []
    code, said, err = kinfolk("cluster", features, "--method", method, *told, "-o", out, "--json")
    assert code == 0, err
    facts = json.loads(said)
    with out.open(newline="") as sheet:
        table = list(csv.reader(sheet))
    assert table[0] == ["id", "cluster", "confidence", "second", "is_medoid"]
    assert [row[0] for row in table[1:]] == [f"{i}.jpg" for i in range(60)]
    labels = np.array([int(row[1]) for row in table[1:]])
    assert sum(int(row[4]) for row in table[1:]) == facts["clusters"] + facts["noise"]
    assert facts["ids"] == "names"
    assert facts["clusters"] == labels.max() + 1
    assert facts["pairwise_f"] == round(100 * kf.metrics.pairwise(np.repeat(np.arange(5), 12), labels).f, 2)


def test_any_setting_can_be_given_by_set(kinfolk, features, tmp_path):
    code, said, err = kinfolk("cluster", features, "-m", "kmeans", "--set", "n_clusters=5", "-o", tmp_path / "c.csv")
    assert code == 0, err
    assert "clusters" in said


def test_settings_graph_npy_and_the_table(kinfolk, features, tmp_path):
    graph = tmp_path / "graph.npz"
    g = kf.knn_graph(kf.load(features), 10)
    g.save(graph)
    out = tmp_path / "clusters.npy"
    arguments = [
        "cluster",
        features,
        "-m",
        "gcut",
        "-k",
        8,
        "--threshold",
        0.7,
        "--set",
        "similarity=sim_m",
        "--set",
        "guard=1",
    ]
    code, said, err = kinfolk(*arguments, "--max-size", 7, "--graph", graph, "-o", out)
    assert code == 0, err
    expected = kf.cluster.GCut(8, 0.7, "sim_m", guard=1, max_size=7).fit_predict(g)
    np.testing.assert_array_equal(np.load(out), expected)
    assert "largest share" in said


def test_rows_without_names_are_numbered_and_evaluate_reads_them(kinfolk, features, tmp_path):
    fs = kf.load(features)
    plain = tmp_path / "plain.npz"
    kf.FeatureSet(fs.features, labels=fs.labels).save(plain)
    assert kinfolk("cluster", plain, "-o", tmp_path / "c.csv")[0] == 0
    assert (tmp_path / "c.csv").read_text().startswith("id,cluster,confidence,second,is_medoid\n0,")
    code, said, err = kinfolk("evaluate", plain, "--clusters", tmp_path / "c.csv", "--json")
    assert code == 0, err
    assert "pairwise" in said


def test_rows_of_a_part_are_counted_within_it_and_that_is_said(kinfolk, features, tmp_path):
    fs = kf.load(features)
    parts = kf.FeatureSet(fs.features, labels=fs.labels, part_index=np.arange(60) % 2, part_names=("train", "test"))
    parts.save(tmp_path / "parts.npz")
    out = tmp_path / "c.csv"
    code, said, err = kinfolk("cluster", tmp_path / "parts.npz", "-m", "finch", "--part", "test", "-o", out, "--json")
    assert code == 0, err
    assert json.loads(said)["ids"] == "rows of part test, counted from 0"
    assert kinfolk("evaluate", tmp_path / "parts.npz", "--part", "test", "-c", out)[0] == 0
    code, _, err = kinfolk("evaluate", tmp_path / "parts.npz", "-c", out)
    assert code == 2 and "were they made from another --part?" in err


def test_two_rows_of_one_name_are_both_kept(kinfolk, features, tmp_path):
    fs = kf.load(features)
    kf.FeatureSet(fs.features, labels=fs.labels, names=["same.jpg", "same.jpg", *fs.names[2:]]).save(tmp_path / "d.npz")
    out = tmp_path / "c.csv"
    code, said, err = kinfolk("cluster", tmp_path / "d.npz", "-o", out, "--json")
    assert code == 0, err
    assert out.read_text().count("\nsame.jpg,") == 2
    scored = json.loads(kinfolk("evaluate", tmp_path / "d.npz", "-c", out, "--json")[1])
    assert round(100 * scored["scores"]["clusters"]["pairwise_f"]["value"], 2) == json.loads(said)["pairwise_f"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "c.txt"], "written as .csv or .npy"),
        (["-o", "c.csv", "--method", "magic"], "method must be one of kin"),
        (["-o", "c.csv", "--method", "finch", "-k", "3"], "finch has no setting 'k'"),
        (["-o", "c.csv", "--set", "guard"], "written name=value"),
        (["-o", "c.csv", "-m", "gcut", "--threshold", "high"], "a number or 'auto'"),
        (["-o", "x.npz"], "written as .csv or .npy"),
    ],
)
def test_a_mistake_is_one_sentence(kinfolk, features, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    code, out, err = kinfolk("cluster", features, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_a_model_gives_kin_its_features(kinfolk, features, tmp_path):
    fs = kf.load(features)
    e = kf.GraphEnhancer(show_progress=False).fit(fs.features)
    e.save(tmp_path / "model")
    code, said, err = kinfolk("cluster", features, "--model", tmp_path / "model", "-o", tmp_path / "c.npy", "--json")
    assert code == 0, err
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), kf.cluster.Kin(e).fit_predict(fs))
    assert json.loads(said)["method"] == "kin"


def test_kin_fills_every_column_and_honours_pairs_of_ids(kinfolk, features, tmp_path):
    (tmp_path / "same.csv").write_text("0.jpg,59.jpg\n")
    (tmp_path / "different.tsv").write_text("1.jpg\t2.jpg\n")
    told = ["--must-link", tmp_path / "same.csv", "--cannot-link", tmp_path / "different.tsv"]
    code, _, err = kinfolk("cluster", features, *told, "-o", tmp_path / "c.csv")
    assert code == 0, err
    kin = kf.cluster.Kin(must_link=[(0, 59)], cannot_link=[(1, 2)]).fit(kf.load(features))
    with (tmp_path / "c.csv").open(newline="") as sheet:
        table = list(csv.DictReader(sheet))
    assert [int(row["cluster"]) for row in table] == kin.labels_.tolist()
    assert [row["confidence"] for row in table] == [f"{p:.4f}" for p in kin.probabilities_.tolist()]
    assert [row["second"] for row in table] == [str(c) if c >= 0 else "" for c in kin.second_.tolist()]
    assert table[0]["cluster"] == table[59]["cluster"] and table[1]["cluster"] != table[2]["cluster"]


@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_finer_and_coarser_clusters_have_no_confidence(kinfolk, features, tmp_path, probability):
    out = tmp_path / "c.csv"
    code, said, err = kinfolk("cluster", features, "--probability", probability, "-o", out, "--json")
    assert code == 0, err
    found = kf.cluster.Kin().fit(kf.load(features)).cut(probability)
    with out.open(newline="") as sheet:
        table = list(csv.DictReader(sheet))
    assert [int(row["cluster"]) for row in table] == found.tolist()
    assert {row["confidence"] + row["second"] for row in table} == {""}
    assert json.loads(said)["clusters"] == found.max() + 1


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (["--method", "gcut", "--probability", "0.7"], "--probability is for kin"),
        (["--method", "hac", "--must-link", "pairs.csv"], "--must-link is for kin"),
        (["--probability", "1.5"], "--probability must be a number from 0 to 1, not 1.5"),
        (["--probability", "nan"], "--probability must be a number from 0 to 1, not nan"),
        (["--cannot-link", "nowhere.csv"], "nowhere.csv does not exist"),
        (["--must-link", "pairs.csv"], "line 1: no row is called 'x.jpg'"),
        (["--cannot-link", "same.csv", "--must-link", "same.csv"], "must_link joins them by (0, 1)"),
    ],
)
def test_pairs_and_cuts_that_do_not_fit_are_refused(kinfolk, features, tmp_path, monkeypatch, told, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("x.jpg,1.jpg\n")
    (tmp_path / "same.csv").write_text("0.jpg,1.jpg\n")
    code, out, err = kinfolk("cluster", features, *told, "-o", tmp_path / "c.csv")
    assert (code, out) == (2, "")
    assert why in err and len(err.strip().splitlines()) == 1
    assert not (tmp_path / "c.csv").exists()


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (["--method", "gcut", "--model", "model"], "--model is for kin"),
        (["--model", "nowhere"], "nowhere does not exist"),
        (["--model", ".", "--set", "enhancer=none"], "enhancer is given twice"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(kinfolk, features, tmp_path, told, why):
    code, _, err = kinfolk("cluster", features, *told, "-o", tmp_path / "c.csv")
    assert code != 0
    assert why in " ".join(err.split())


def test_what_was_learned_is_kept_and_used_again(kinfolk, features, tmp_path):
    model, first, second = tmp_path / "model", tmp_path / "first.npy", tmp_path / "second.npy"
    learned = ["--method", "star-fc", "--set", "steps=3", "--train", features, "--save-model", model]
    code, said, err = kinfolk("cluster", features, *learned, "-o", first, "--json")
    assert code == 0, err
    assert {"k", "probability", "intimacy"} <= json.loads(said).keys()
    code, _, err = kinfolk("cluster", features, "--method", "star-fc", "--model", model, "-o", second)
    assert code == 0, err
    np.testing.assert_array_equal(np.load(first), np.load(second))
    limited = kinfolk("cluster", features, "-m", "star-fc", "--model", model, "--max-size", 4, "-o", second, "--force")
    assert limited[0] == 0 and np.bincount(np.load(second)).max() <= 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-m", "ada-nets"], "needs labelled identities"),
        (["-m", "ada-nets", "--model", "m", "--train-part", "train"], "not both"),
        (["-m", "gcut", "--train-part", "train"], "gcut learns nothing"),
        (["-m", "ada-nets", "--model", ".", "--save-model", "n"], "by this call"),
        (["-m", "ada-nets", "--model", ".", "-k", 5], "k was chosen when"),
        (["-m", "ada-nets", "--model", "nowhere"], "nowhere does not exist"),
    ],
)
def test_mistakes_with_models_are_said(kinfolk, features, tmp_path, arguments, sentence):
    code, _, err = kinfolk("cluster", features, *arguments, "-o", tmp_path / "c.csv")
    assert code == 2 and sentence in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--method", "hdbscan", "--set", "min_cluster_size=abc"],
            "min_cluster_size must be a whole number, not 'abc'",
        ),
        (["--method", "hdbscan", "--set", "min_cluster_size=2.5"], "min_cluster_size must be a whole number"),
        (["--method", "hdbscan", "--set", "min_cluster_size=1"], "must be a whole number from 2 on, not 1"),
        (["--method", "gcut", "--set", "guard=abc"], "guard must be a number or none, not 'abc'"),
        (["--method", "kmeans", "--set", "n_clusters=abc"], "n_clusters must be a whole number"),
        (["--method", "hac", "--set", "linkage=longest"], "linkage must be"),
        (["--method", "gcut", "--k", "1797"], "--k 1797 is too large: each row has 1,796 others"),
    ],
)
def test_a_setting_of_the_wrong_kind_gets_one_sentence(kinfolk, tmp_path, arguments, sentence):
    kf.datasets.digits().save(tmp_path / "digits.npz")
    code, out, err = kinfolk("cluster", tmp_path / "digits.npz", "-o", tmp_path / "c.csv", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1
    assert not (tmp_path / "c.csv").exists()


def test_settings_are_what_they_are_declared_to_be(kinfolk, tmp_path):
    kf.datasets.digits().save(tmp_path / "digits.npz")
    told = ["--set", "guard=1", "--set", "threshold=auto", "--set", "max_size=none", "--set", "similarity=sim_m"]
    code, _, err = kinfolk("cluster", tmp_path / "digits.npz", "-o", tmp_path / "c.csv", "--method", "gcut", *told)
    assert code == 0, err


def test_safe_cells_are_no_formulas_and_are_read_back(kinfolk, tmp_path):
    names = ["=1+1", "+x", "-y", "@z", "\tt", "plain"]
    X = np.eye(3).repeat(2, axis=0) + 0.1
    kf.FeatureSet(X, labels=[0, 0, 1, 1, 2, 2], names=names).save(tmp_path / "x.npz")
    command = ["cluster", tmp_path / "x.npz", "-m", "gcut", "-k", 2, "--threshold", 0.9, "-o"]
    assert kinfolk(*command, tmp_path / "safe.csv", "--safe-cells")[0] == 0
    cells = [line[0] for line in csv.reader((tmp_path / "safe.csv").read_text().splitlines())]
    assert cells == ["id", "'=1+1", "'+x", "'-y", "'@z", "'\tt", "plain"]
    code, out, _ = kinfolk("evaluate", tmp_path / "x.npz", "--clusters", tmp_path / "safe.csv", "--json")
    assert code == 0
    assert json.loads(out)["scores"]["clusters"]["pairwise_f"]["value"] == 1


def test_clusters_given_for_features_are_refused_by_name(kinfolk, tmp_path):
    for header in ("id,cluster,confidence,second,is_medoid", "name,cluster", "row,cluster"):
        (tmp_path / "c.csv").write_text(f"{header}\n0,1,2,3,4\n")
        code, _, err = kinfolk("cluster", tmp_path / "c.csv", "-o", tmp_path / "out.csv")
        assert code == 2 and "c.csv holds clusters" in err
