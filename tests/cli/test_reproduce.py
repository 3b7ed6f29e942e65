"""kinfolk reproduce for the tables that are measured cell by cell."""

import json
from dataclasses import replace

import pytest

import kinfolk as kf
from kinfolk.experiments import clustering_tables
from kinfolk.experiments.clustering_tables import STUDIES, Clustering, persons
from kinfolk.experiments.forms import ORIGINAL
from kinfolk.experiments.task_cells import TaskCell
from kinfolk.experiments.ways import G_CUT


@pytest.fixture
def one_cell(monkeypatch, tmp_path):
    """Table 10 with its G-cut on raw features alone, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    cells = lambda names, seeds, made: [TaskCell(n, ORIGINAL, Clustering(G_CUT), s) for n in names for s in seeds]  # noqa: E731
    monkeypatch.setitem(clustering_tables.STUDIES, "table10", replace(STUDIES["table10"], cells=cells))
    return tmp_path


def test_generated_data_are_said_to_be_and_cells_are_kept(kinfolk, one_cell):
    code, out, err = kinfolk("reproduce", "table10", "--quick")
    assert code == 0
    assert "person_like (generated)" in out and "73.51" in out and "Ada-NETS" in out
    assert err.count("seed 0") == 1 and "before" not in err
    kept = (one_cell / "kinfolk-table10.jsonl").read_text().splitlines()
    assert json.loads(kept[0])["row"] == "original + G-cut"
    code, out, err = kinfolk("reproduce", "table10", "--quick", "--json")
    assert "as measured before" in err
    assert json.loads(out) == [json.loads(kept[0])]


def test_own_data_are_measured_under_their_name(kinfolk, one_cell):
    data = persons(0, quick=True)
    kf.datasets.person_like(40, seed=0).save(one_cell / "mine.npz")
    code, out, _ = kinfolk("reproduce", "table10", "--data", "mine.npz", "--seeds", 1, "--results", "r.jsonl", "--json")
    row = json.loads(out)[0]
    assert code == 0
    assert row["data"] == "mine"
    cut = kf.cluster.GCut(k=80, threshold=row["chosen"]["threshold"]).fit_predict(data.test)
    assert row["scores"]["fp"] == pytest.approx(100 * kf.metrics.pairwise(data.test.labels, cut).f)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table10", "--part", "test"], "leave --part out"),
        (["table1", "--results", "x.jsonl"], "keeps no --results"),
        (["table10", "--seeds", "0"], "at least one seed"),
        (["table99"], "unknown table 'table99'; there are table1, table5, table3, table10, table4, table11"),
    ],
)
def test_a_mistake_gets_one_sentence(kinfolk, one_cell, arguments, sentence):
    code, out, err = kinfolk("reproduce", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1
