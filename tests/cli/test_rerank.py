"""kinfolk rerank."""

import csv
import json
import re

import numpy as np
import pytest

import kinfolk as kf


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rerank") / "x.npz"
    kf.datasets.person_like(n_identities=40, seed=0).save(path)
    return path


def test_one_file_with_queries_gives_a_ranking(kinfolk, file, tmp_path):
    code, out, _ = kinfolk(
        "rerank", file, "--part", "test", "--method", "kr", "--top", 7, "--json", "-o", tmp_path / "r.npz"
    )
    assert code == 0
    fs = kf.load(file).part("test")
    expected = kf.rerank.k_reciprocal(fs.take(fs.query), fs.take(~fs.query), top=7)
    with np.load(tmp_path / "r.npz") as found:
        np.testing.assert_array_equal(found["indices"], expected.indices)
        np.testing.assert_array_equal(found["distances"], expected.distances)
    facts = json.loads(out)
    assert facts["k1"] == expected.settings["k1"]
    assert facts["top"] == 7


@pytest.mark.parametrize("method", ["cosine", "qe", "lbr", "ecn", "band", "band+kr"])
def test_two_files_and_every_method(kinfolk, file, tmp_path, method):
    fs = kf.load(file).part("test")
    fs.take(fs.query).save(tmp_path / "q.npz")
    fs.take(~fs.query).save(tmp_path / "g.npz")
    code, _, err = kinfolk(
        "rerank", tmp_path / "q.npz", tmp_path / "g.npz", "-m", method, "--top", "all", "-o", tmp_path / "r.csv"
    )
    assert code == 0, err
    with (tmp_path / "r.csv").open() as sheet:
        lines = list(csv.DictReader(sheet))
    assert len(lines) == fs.query.sum() * (~fs.query).sum()
    assert lines[0]["rank"] == "1"


def protocol(order, query, gallery):
    """Score whole lists as the text of `kinfolk.metrics.reid` has it, one item after the other."""
    ap, first, inp = [], [], []
    for q, row in enumerate(order.tolist()):
        seen = [g for g in row if (gallery.labels[g], gallery.cameras[g]) != (query.labels[q], query.cameras[q])]
        ranks = [r for r, g in enumerate(seen, 1) if gallery.labels[g] == query.labels[q]]
        if ranks:
            ap.append(np.mean([t / rank for t, rank in enumerate(ranks, 1)]))
            first.append(ranks[0])
            inp.append(len(ranks) / ranks[-1])
    shares = {f"R{r}": np.mean(np.array(first) <= r) for r in (1, 5, 10)}
    return dict(queries_scored=len(ap), mAP=np.mean(ap), **shares, mINP=np.mean(inp))


@pytest.mark.parametrize("method", ["cosine", "qe", "lbr", "kr", "ecn", "band", "band+kr"])
def test_the_scores_are_those_of_the_whole_gallery_whatever_the_top(kinfolk, file, tmp_path, method):
    fs = kf.load(file).part("test")
    query, gallery = fs.take(fs.query), fs.take(~fs.query)
    first, _, then = method.partition("+")
    if first == "band":
        ranking = kf.rerank.band(query, gallery, then or "cosine", top=None)
    else:
        ranking = kf.rerank.METHODS[first](query, gallery, top=None)
    expected = protocol(ranking.indices, query, gallery)
    assert 0.2 < expected["mINP"] < expected["mAP"] < 0.98
    found = kf.metrics.reid(ranking, query.labels, gallery.labels, query.cameras, gallery.cameras)
    assert (found.map, found.minp) == pytest.approx((expected["mAP"], expected["mINP"]))
    printed = []
    for top in (5, 10, 100, "all"):
        code, out, _ = kinfolk(
            "rerank", file, "--part", "test", "-m", method, "--top", top, "--json", "--force", "-o", tmp_path / "r.npz"
        )
        assert code == 0
        facts = json.loads(out)
        with np.load(tmp_path / "r.npz") as written:
            np.testing.assert_array_equal(written["indices"], ranking.indices[:, : facts["top"]])
        printed.append({name: facts[name] for name in expected})
    x100 = {name: value if name == "queries_scored" else round(100 * value, 2) for name, value in expected.items()}
    assert printed[0] == pytest.approx(x100, abs=0.0101)  # a rounding may go either way
    assert all(scores == printed[0] for scores in printed)


def test_people_see_the_scores_x_100_and_which_rows_were_used(kinfolk, file, tmp_path):
    _, out, _ = kinfolk("rerank", file, "--part", "test", "-m", "kr", "--json", "-o", tmp_path / "a.npz")
    facts = json.loads(out)
    _, out, _ = kinfolk("rerank", file, "--part", "test", "-m", "kr", "-o", tmp_path / "b.npz")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == f"read {file}, part test"
    assert f"queries {facts['queries']}" in lines
    assert f"gallery {facts['gallery']}" in lines
    for name in ("mAP", "R1", "R5", "R10", "mINP"):
        assert f"{name} x 100 {facts[name]:.2f}" in lines


def test_a_part_must_be_named_where_there_are_several(kinfolk, file, tmp_path):
    code, out, err = kinfolk("rerank", file, "-m", "cosine", "-o", tmp_path / "r.npz")
    assert (code, out) == (2, "")
    assert err == f"kinfolk: {file} has the parts train, test: name one with --part, or all of them with --part all\n"
    assert not (tmp_path / "r.npz").exists()
    code, out, _ = kinfolk("rerank", file, "--part", "all", "-m", "cosine", "--json", "-o", tmp_path / "r.npz")
    facts, fs = json.loads(out), kf.load(file)
    assert (code, facts["gallery"]) == (0, (~fs.query).sum())
    assert facts["read"] == f"{file}, parts train + test"
    fs.part("test").save(tmp_path / "one.npz")  # a file with the rows of one part needs no name
    assert kinfolk("rerank", tmp_path / "one.npz", "-m", "cosine", "-o", tmp_path / "one-r.npz")[0] == 0
    code, _, err = kinfolk("rerank", tmp_path / "one.npz", file, "-m", "cosine", "-o", tmp_path / "two.npz")
    assert code == 2
    assert f"{file} has the parts train, test" in err


def test_labels_without_anything_to_find_give_a_ranking_and_the_reason(kinfolk, tmp_path):
    kf.FeatureSet(np.eye(4), labels=[0, 1, 2, 3], query=[True, False, False, False]).save(tmp_path / "x.npz")
    code, out, _ = kinfolk("rerank", tmp_path / "x.npz", "-m", "cosine", "-o", tmp_path / "r.npz")
    assert code == 0
    assert "none: no query has an item of its identity" in out
    assert (tmp_path / "r.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-m", "other"], "method must be cosine, qe"),
        (["-m", "kr+band"], "method must be cosine, qe"),
        (["-m", "band+"], "method must be cosine, qe"),
        (["-m", "kr", "--top", "0"], "--top must be a whole number"),
        (["-m", "kr", "--top", "²"], "--top must be a whole number"),
        (["-m", "kr", "--top", "9" * 5000], "--top must "),
        (["-m", "kr", "--model", "folder"], "--model is for band"),
        (["-m", "band", "--preset", "paper"], "band has no settings"),
        (["-m", "kr", "--preset", "book"], "--preset is paper or left out"),
        (["-m", "kr", "-o", "r.txt"], "rankings are written as"),
    ],
)
def test_a_mistake_gets_one_sentence(kinfolk, file, tmp_path, arguments, sentence):
    code, _, err = kinfolk("rerank", file, "--part", "test", "-o", tmp_path / "r.npz", *arguments)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_a_file_without_queries_needs_a_gallery(kinfolk, tmp_path):
    kf.FeatureSet(np.eye(4)).save(tmp_path / "x.npz")
    code, _, err = kinfolk("rerank", tmp_path / "x.npz", "-m", "kr", "-o", tmp_path / "r.npz")
    assert code == 2
    assert "does not mark which rows are queries" in err


@pytest.mark.slow
def test_market1501_has_one_number_whatever_is_written(kinfolk, shared_data, tmp_path):
    market = (shared_data / "market1501.npz", "--part", "test")
    for top in (5, 10, 100, "all"):
        out = kinfolk("rerank", *market, "-m", "kr", "--top", top, "--force", "-o", tmp_path / "r.npz")[1]
        assert re.search(r"mAP x 100 +80\.63\n", out)
    out = kinfolk("rerank", *market, "-m", "cosine", "-o", tmp_path / "c.npz")[1]
    assert re.search(r"mAP x 100 +64\.43\nR1 x 100 +85\.19\n", out)
    out = kinfolk("evaluate", *market)[1]
    assert re.search(r"mAP +│ +64\.43 ", out) and re.search(r"R1 +│ +85\.19 ", out)
    out = kinfolk("evaluate", *market, "--ranking", tmp_path / "c.npz")[1]
    assert "mAP of the first 100" in out and "64.43" not in out
