"""kinfolk rerank."""

import csv
import json

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


def test_scores_are_printed_if_there_are_labels(kinfolk, file, tmp_path):
    _, out, _ = kinfolk(
        "rerank", file, "--part", "test", "-m", "kr", "--top", "all", "--json", "-o", tmp_path / "r.npz"
    )
    facts = json.loads(out)
    fs = kf.load(file).part("test")
    query, gallery = fs.take(fs.query), fs.take(~fs.query)
    ranking = kf.rerank.k_reciprocal(query, gallery, top=None)
    scores = kf.metrics.reid(ranking, query.labels, gallery.labels, query.cameras, gallery.cameras)
    assert facts["mAP"] == round(100 * scores.map, 2)
    assert facts["R1"] == round(100 * scores.rank1, 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-m", "other"], "method must be cosine, qe"),
        (["-m", "kr+band"], "method must be cosine, qe"),
        (["-m", "band+"], "method must be cosine, qe"),
        (["-m", "kr", "--top", "0"], "--top must be a whole number"),
        (["-m", "kr", "--model", "folder"], "--model is for band"),
        (["-m", "band", "--preset", "paper"], "band has no settings"),
        (["-m", "kr", "--preset", "book"], "preset must be 'paper'"),
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
