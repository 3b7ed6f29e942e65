"""kinfolk evaluate as a user meets it, and the examples of its page."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.metrics import clustering_report, retrieval_report

PAGE = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text()


@pytest.fixture(autouse=True)
def empty_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fs(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 5)
    X = np.eye(12)[labels] + 0.35 * rng.standard_normal((60, 12))
    names = [f"{n:02}.jpg" for n in rng.permutation(60)]
    features = kf.FeatureSet(X, labels=labels, names=names, part_index=labels % 2, part_names=("train", "test"))
    features.save(tmp_path / "x.npz")
    return features


@pytest.fixture
def clusters():
    rng = np.random.default_rng(1)
    return np.where(rng.random(60) < 0.2, rng.integers(-1, 12, 60), np.repeat(np.arange(12), 5))


def values(out, kind):
    return {name: facts["value"] for name, facts in json.loads(out)["scores"][kind].items()}


def test_clusters_are_found_by_name_by_row_or_in_order(kinfolk, fs, clusters):
    shuffled = np.random.default_rng(2).permutation(60)
    lines = [f"{fs.names[i]},{'' if clusters[i] < 0 else clusters[i]}" for i in shuffled]
    Path("by-name.csv").write_text("\n".join(["name,cluster", *lines]))
    Path("by-row.csv").write_text("\n".join(["row,cluster", *(f"{i},{clusters[i]}" for i in shuffled)]))
    Path("words.csv").write_text(
        "\n".join(["row,cluster", *(f"{i},{'' if c < 0 else f'group {c}'}" for i, c in enumerate(clusters))])
    )
    np.save("order.npy", clusters)
    Path("order.txt").write_text("\n".join(map(str, clusters)))
    report = clustering_report(fs.labels, clusters)
    for file in ("by-name.csv", "by-row.csv", "words.csv", "order.npy", "order.txt"):
        code, out, err = kinfolk("evaluate", "x.npz", "--labels-from", file, "--json")
        assert code == 0, err
        found = values(out, "clusters")
        assert found["pairwise_f"] == pytest.approx(report.pairwise.f), file
        assert found["bcubed_precision"] == pytest.approx(report.bcubed.precision)
        assert found["ari"] == pytest.approx(report.ari)
        (bucket,) = json.loads(out)["by_class_size"]
        assert (bucket["smallest"], bucket["largest"], bucket["classes"]) == (5, 9, 12)
        assert bucket["bcubed"]["f"] == pytest.approx(report.by_class_size[0].bcubed.f)


def test_labels_alone_are_enough_for_clusters(kinfolk, fs, clusters):
    np.save("truth.npy", fs.labels)
    Path("truth.txt").write_text("\n".join(f"person {label}" for label in fs.labels))
    np.save("p.npy", clusters)
    for truth in ("truth.npy", "truth.txt"):
        _, out, _ = kinfolk("evaluate", truth, "-c", "p.npy", "--json")
        assert values(out, "clusters")["nmi"] == pytest.approx(clustering_report(fs.labels, clusters).nmi)
        code, _, err = kinfolk("evaluate", truth)
        assert code == 2
        assert "holds labels alone" in err


def test_labels_alone_may_have_names(kinfolk, fs, clusters):
    np.save("truth.npy", fs.labels)
    Path("names.txt").write_text("\n".join(fs.names))
    lines = [f"{name},{cluster}" for name, cluster in zip(fs.names, clusters, strict=True)]
    Path("c.csv").write_text("\n".join(["id,cluster", *reversed(lines)]))
    code, out, err = kinfolk("evaluate", "truth.npy", "-c", "c.csv", "--names", "names.txt", "--json")
    assert code == 0, err
    assert values(out, "clusters")["nmi"] == pytest.approx(clustering_report(fs.labels, clusters).nmi)
    Path("names.txt").write_text("a\nb")
    code, _, err = kinfolk("evaluate", "truth.npy", "-c", "c.csv", "--names", "names.txt")
    assert code == 2 and "names.txt: 2 names for 60 rows" in err


def test_features_and_a_graph_are_scored(kinfolk, fs):
    part = fs.part("test")
    report = retrieval_report(part, part.labels)
    _, out, _ = kinfolk("evaluate", "x.npz", "--part", "test", "--json")
    found = values(out, "features")
    assert found["map"] == pytest.approx(report.map)
    assert found["minp"] == pytest.approx(report.minp)
    assert found["cmc_5"] == pytest.approx(report.cmc[4])
    g = kf.knn_graph(part, 6)
    g.save("g.npz")
    _, out, _ = kinfolk("evaluate", "x.npz", "--part", "test", "--graph", "g.npz", "--json")
    found = values(out, "graph")
    assert list(json.loads(out)["scores"]) == ["graph"]
    assert found["auc"] == pytest.approx(kf.metrics.pair_auc(g, g.similarities, part.labels))
    np.save("one.npy", np.zeros(30, dtype=int))
    _, out, _ = kinfolk("evaluate", "one.npy", "--graph", "g.npz", "--json")
    assert values(out, "graph") == {"edge_noise_rate": 0.0}


@pytest.fixture
def persons():
    whole = kf.datasets.person_like(20, seed=0)
    whole.save("p.npz")
    return whole.part("test")


def protocol(fs):
    query, gallery = fs.take(fs.query), fs.take(~fs.query)
    order = kf.metrics.cosine_ranking(query, gallery)
    found = kf.metrics.reid(order, query.labels, gallery.labels, query.cameras, gallery.cameras)
    return dict(map=found.map, cmc_1=found.rank1, cmc_5=found.rank5, cmc_10=found.rank10, minp=found.minp)


def test_queries_and_cameras_are_scored_by_the_protocol(kinfolk, persons):
    code, out, err = kinfolk("evaluate", "p.npz", "--part", "test", "--json")
    assert code == 0, err
    assert list(json.loads(out)["scores"]) == ["reid"]
    assert values(out, "reid") == pytest.approx(protocol(persons))
    _, out, _ = kinfolk("evaluate", "p.npz", "--part", "test", "--retrieval", "--json")
    among_all = retrieval_report(persons, persons.labels)
    assert values(out, "reid") == pytest.approx(protocol(persons))
    assert values(out, "features")["map"] == pytest.approx(among_all.map)
    _, out, _ = kinfolk("evaluate", "p.npz", "--part", "test")
    assert out.startswith(f"p.npz, part test: {len(persons):,} rows\nRe-identification, by cosine (x 100): ")
    assert re.search(rf"R1 +│ +{100 * protocol(persons)['cmc_1']:.2f}", out)
    assert f"{100 * among_all.map:.2f}" not in out
    code, _, err = kinfolk("evaluate", "p.npz")  # training rows would be in the gallery
    assert code == 2
    assert "p.npz has the parts train, test: name one with --part" in err
    persons.take(persons.query).save("q.npz")
    persons.take(~persons.query).save("g.npz")
    _, out, _ = kinfolk("evaluate", "q.npz", "--gallery", "g.npz", "--json")
    assert values(out, "reid") == pytest.approx(protocol(persons))


@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_a_ranking_on_disk_has_the_scores_that_rerank_printed(kinfolk, persons, suffix):
    file = f"r.{suffix}"
    chosen = ("--part", "test", "-m", "kr", "--json", "--force", "-o", file)
    printed = json.loads(kinfolk("rerank", "p.npz", "--top", "all", *chosen)[1])
    names = dict(map="mAP", cmc_1="R1", cmc_5="R5", cmc_10="R10", minp="mINP")
    expected = {name: printed[label] / 100 for name, label in names.items()}
    code, out, err = kinfolk("evaluate", "p.npz", "--part", "test", "--ranking", file, "--json")
    assert code == 0, err
    assert list(json.loads(out)["scores"]) == ["ranking"]
    assert values(out, "ranking") == pytest.approx(expected, abs=5.1e-5)
    assert json.loads(kinfolk("rerank", "p.npz", "--top", 5, *chosen)[1])["mAP"] == printed["mAP"]
    _, out, _ = kinfolk("evaluate", "p.npz", "--part", "test", "--ranking", file, "--json")
    cut = values(out, "ranking")
    assert set(cut) == {f"{name}_of_the_first_5" for name in names}
    assert cut["map_of_the_first_5"] < printed["mAP"] / 100 - 0.05
    _, out, _ = kinfolk("evaluate", "p.npz", "--part", "test", "--ranking", file)
    assert "mAP of the first 5 " in out
    assert "of which 5 are listed: the others count as not found" in out
    for wrong in ("train", "all"):
        code, _, err = kinfolk("evaluate", "p.npz", "--part", wrong, "--ranking", file)
        assert code == 2, wrong
        assert len(err.splitlines()) == 1


def test_two_rankings_are_compared(kinfolk, persons):
    for method in ("kr", "cosine"):
        kinfolk("rerank", "p.npz", "--part", "test", "-m", method, "--top", "all", "-o", f"{method}.npz")
    arguments = ("--ranking", "kr.npz", "--against", "cosine.npz", "--bootstrap", 100, "--json")
    code, out, err = kinfolk("evaluate", "p.npz", "--part", "test", *arguments)
    assert code == 0, err
    difference = next(d for d in json.loads(out)["differences"] if d["name"] == "map")
    assert difference["value"] == pytest.approx(values(out, "ranking")["map"] - protocol(persons)["map"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["x.npz", "--ranking", "r.npz"], "does not mark which rows are queries: name a second file with --gallery"),
        (["x.npz", "-c", "p.npy", "--gallery", "x.npz"], "--gallery is for --ranking"),
        (["x.npz", "--n-queries", "few"], "--n-queries must be a whole number from 1 on, or all, not 'few'"),
        (["x.npz", "--n-queries", "61"], "n_queries is 61, but there are only 60 queries to draw from"),
        (["truth.npy", "--ranking", "r.npz"], "holds labels alone"),
    ],
)
def test_what_does_not_fit_together_gets_one_sentence(kinfolk, fs, clusters, arguments, sentence):
    np.save("p.npy", clusters)
    np.save("truth.npy", fs.labels)
    one = kf.FeatureSet(fs.features, labels=fs.labels)  # rows of no part
    one.save("x.npz", force=True)
    np.savez("r.npz", indices=np.zeros((1, 1), dtype=int))
    code, out, err = kinfolk("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err


def test_enhance_and_evaluate_have_one_number_for_one_set(kinfolk, fs, persons, monkeypatch):
    monkeypatch.setattr(sys.modules[kf.metrics.feature_scores.__module__], "QUERIES", 20)  # so that queries are drawn
    for file, kind in (("x.npz", "features"), ("p.npz", "reid")):
        code, out, err = kinfolk("enhance", file, "--part", "test", "-k", 3, "--seed", 5, "--json", "-o", f"z-{file}")
        assert code == 0, err
        facts = json.loads(out)
        assert facts["mAP_of"].startswith("20 of ")
        before = kinfolk("evaluate", file, "--part", "test", "--json")[1]
        after = kinfolk("evaluate", f"z-{file}", "--part", "test", "--json")[1]
        assert facts["mAP_before"] == round(100 * values(before, kind)["map"], 2)
        assert facts["mAP_after"] == round(100 * values(after, kind)["map"], 2)
        assert json.loads(after)["about"][kind] == facts["mAP_of"]
        every = kinfolk("evaluate", file, "--part", "test", "--n-queries", "all", "--json")[1]
        assert values(every, kind)["map"] != values(before, kind)["map"]


def test_intervals_are_printed_around_the_scores(kinfolk, fs, clusters):
    np.save("p.npy", clusters)
    code, out, _ = kinfolk("evaluate", "x.npz", "-c", "p.npy", "--retrieval", "--bootstrap", 50)
    report = clustering_report(fs.labels, clusters)
    assert code == 0
    expected = kf.metrics.bootstrap(kf.metrics.clustering_scores(fs.labels, clusters), 50)["bcubed_f"]
    row = next(line for line in out.splitlines() if "BCubed F" in line)
    numbers = [float(number) for number in re.findall(r"[\d.]+\d", row)]
    assert numbers == pytest.approx([100 * v for v in (expected.value, expected.low, expected.high)], abs=0.006)
    assert f"{100 * report.by_class_size[0].pairwise.f:.2f}" in out
    assert "mAP" in out
    assert "interval" not in kinfolk("evaluate", "x.npz", "-c", "p.npy")[1]


def test_a_comparison_says_whether_the_difference_is_real(kinfolk, fs, clusters):
    np.save("p.npy", clusters)
    np.save("truth.npy", fs.labels)
    code, out, _ = kinfolk("evaluate", "x.npz", "-c", "truth.npy", "--against", "p.npy", "--bootstrap", 100)
    assert code == 0
    assert any(line.startswith("pairwise_f: 100.00") and "the first is higher" in line for line in out.splitlines())
    kf.FeatureSet(fs.features + 0.3 * np.eye(12)[fs.labels]).save("better.npz")
    _, out, _ = kinfolk("evaluate", "x.npz", "--against", "better.npz", "--bootstrap", 100, "--json")
    difference = next(d for d in json.loads(out)["differences"] if d["name"] == "map")
    assert difference["value"] < 0
    assert difference["real"]
    assert "the second is higher" in difference["sentence"]


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("c.csv", "name,group\na,1\n", "id,cluster (or name,cluster or row,cluster) were expected, not name,group"),
        ("c.csv", "row,cluster\n0,1\n", "clusters of 1 rows, but 60 to score: were they made from another --part?"),
        ("c.csv", "row,cluster\n0,1\n0,2\n", "line 3: row '0' is there twice"),
        ("c.csv", "", "empty"),
        ("c.txt", "1\n2\n", "2 clusters, but there are 60 rows"),
        ("c.docx", "1\n", ".npy, .txt, .meta"),
    ],
)
def test_a_wrong_cluster_file_gets_one_sentence(kinfolk, fs, file, text, sentence):
    Path(file).write_text(text)
    code, out, err = kinfolk("evaluate", "x.npz", "-c", file)
    assert (code, out) == (2, "")
    assert sentence in err
    assert file in err
    assert len(err.strip().splitlines()) == 1


def test_what_is_missing_is_named(kinfolk, fs):
    kf.FeatureSet(fs.features).save("bare.npz")
    code, _, err = kinfolk("evaluate", "bare.npz")
    assert code == 2
    assert "no labels to score against: give them with --labels" in err
    kf.FeatureSet(fs.features, labels=fs.labels).save("unnamed.npz")
    Path("c.csv").write_text("name,cluster\na,1\n")
    code, _, err = kinfolk("evaluate", "unnamed.npz", "-c", "c.csv")
    assert code == 2
    assert "the features have no names" in err
    np.save("short.npy", fs.features[:5])
    assert kinfolk("evaluate", "x.npz", "--against", "short.npy")[0] == 2
    assert kinfolk("evaluate", "absent.npy", "-c", "c.csv")[0] == 2


def test_the_examples_of_the_page_run(kinfolk, capfd):
    space: dict = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(example, "evaluate.md", "exec"), space)
    capfd.readouterr()
    commands = [line for line in PAGE.splitlines() if line.startswith(("kinfolk evaluate", "kinfolk rerank"))]
    assert len(commands) >= 6
    for line in commands:
        code, _, err = kinfolk(*shlex.split(line, comments=True)[1:])
        assert code == 0, f"{line}\n{err}"
