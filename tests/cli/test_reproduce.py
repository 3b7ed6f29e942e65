"""kinfolk reproduce: cells are kept in the folder of the run, and what was found is printed beside the paper's."""

import json
from dataclasses import replace

import pytest

import kinfolk as kf
from kinfolk.experiments import catalogue
from kinfolk.experiments.catalogue import STUDIES
from kinfolk.experiments.clustering_methods import G_CUT, LEARNED_METHODS
from kinfolk.experiments.clustering_tables import Clustering
from kinfolk.experiments.feature_methods import ORIGINAL
from kinfolk.experiments.generated_sets import PERSONS, generated_set
from kinfolk.experiments.results import ExperimentResult, Table, read_results
from kinfolk.experiments.task_cells import TaskCell


@pytest.fixture
def one_cell(monkeypatch, tmp_path):
    """Table 10 with G-cut on raw features, and a learned peer that is slow, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    fast = replace(LEARNED_METHODS[1], settings=dict(steps=2))
    cells = lambda names, seeds, size: [  # noqa: E731
        TaskCell(n, ORIGINAL, Clustering(method), s) for n in names for s in seeds for method in (G_CUT, fast)
    ]
    monkeypatch.setitem(catalogue.STUDIES, "table10", replace(STUDIES["table10"], cells=cells))
    return tmp_path


def test_generated_data_are_said_to_be_and_cells_are_kept(kinfolk, one_cell):
    code, out, err = kinfolk("reproduce", "table10", "--quick")
    assert code == 0
    assert "person_like (generated)" in out and "73.51" in out and "Ada-NETS" in out
    assert err.count("seed 0") == 1 and "before" not in err
    kept = (one_cell / "kinfolk-run" / "cells.jsonl").read_text().splitlines()
    assert json.loads(kept[0])["row"] == "original + G-cut"
    code, out, err = kinfolk("reproduce", "table10", "--quick", "--json")
    assert "as measured before" in err
    (result,) = (ExperimentResult.model_validate(found) for found in json.loads(out))
    assert result == read_results(one_cell / "kinfolk-run")[0]
    assert result.quick and result.cells == 1 and "1 cells: 1 by commit" in result.tables[0].made


def test_learned_peers_are_measured_where_all_methods_are_asked_for(kinfolk, one_cell):
    code, _, err = kinfolk("reproduce", "table10", "--quick", "--methods", "all", "--json")
    assert code == 0 and err.count("seed 0") == 2
    code, out, err = kinfolk("reproduce", "table10", "--quick", "--methods", "STAR-FC", "--json")
    assert code == 0 and err.count("seed 0") == 1 and "as measured before" in err
    rows = {row[0]: row[1] for row in json.loads(out)[0]["tables"][0]["rows"]}
    assert rows["STAR-FC"] != "–" and rows["original + G-cut"] != "–"  # what was measured before stays in the table


def test_own_data_are_measured_under_their_name_and_beside_generated_ones(kinfolk, one_cell):
    data = generated_set(PERSONS, 0, "quick")
    kf.datasets.person_like(40, seed=0).save(one_cell / "mine.npz")
    code, out, _ = kinfolk("reproduce", "table10", "--data", "mine.npz", "--seeds", 1, "--out", "run", "--json")
    assert code == 0
    assert [table["data"] for table in json.loads(out)[0]["tables"]] == ["mine"]
    row = json.loads((one_cell / "run" / "cells.jsonl").read_text())
    cut = kf.cluster.GCut(k=80, threshold=row["chosen"]["threshold"]).fit_predict(data.test)
    assert row["scores"]["fp"] == pytest.approx(100 * kf.metrics.pairwise(data.test.labels, cut).f)
    code, out, err = kinfolk("reproduce", "table10", "--quick", "--out", "run", "--json")
    assert [table["data"] for table in json.loads(out)[0]["tables"]] == ["mine", PERSONS]  # the earlier one is kept
    both = ["--data", "mine.npz", "--data", "generated", "--quick"]
    code, out, err = kinfolk("reproduce", "table10", *both, "--out", "run", "--json")
    assert [table["data"] for table in json.loads(out)[0]["tables"]] == [PERSONS, "mine"]
    assert err.count("as measured before") == 2  # the quick generated persons are the same vectors


def test_edges_need_no_parts_and_claims_are_printed(kinfolk, tmp_path):
    digits = kf.datasets.digits()
    kf.FeatureSet(digits.features[:600], digits.labels[:600]).save(tmp_path / "whole.npz")
    code, out, _ = kinfolk("reproduce", "table5", "--data", tmp_path / "whole.npz", "--out", tmp_path / "run")
    assert code == 0
    assert "89.23" in out and "whole" in out and "Claims of the paper" in out
    assert kinfolk("reproduce", "table2", "--data", tmp_path / "whole.npz")[0] == 2


def test_what_has_no_cells_goes_on_after_the_last_finished_set(kinfolk, one_cell, monkeypatch):
    measured = []

    def measure(sets, seed, quick, echo):
        (name,) = sets
        measured.append(name)
        if measured == [PERSONS, "mine"]:
            raise KeyboardInterrupt
        return ExperimentResult(name="closeup", title="", about="", tables=(Table(data=name, head=("",), rows=()),))

    monkeypatch.setitem(catalogue.SINGLES, "closeup", (measure, (PERSONS,)))
    kf.datasets.digits().save(one_cell / "mine.npz")
    call = ["reproduce", "closeup", "--quick", "--data", "mine.npz", "--data", "generated", "--json"]
    assert kinfolk(*call)[0] == 130
    code, out, err = kinfolk(*call)
    assert code == 0 and err.count("as measured before") == 1
    assert measured == [PERSONS, "mine", "mine"]
    assert [table["data"] for table in json.loads(out)[0]["tables"]] == [PERSONS, "mine"]
    kf.datasets.digits().part("test").save(one_cell / "mine.npz", force=True)
    assert kinfolk(*call)[0] == 2  # other data are not taken for those of before
    kf.datasets.person_like(20).save(one_cell / "mine.npz", force=True)
    assert kinfolk(*call)[0] == 0 and measured[3:] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table10", "--quick", "--full"], "choose one"),
        (["table10", "--seeds", "0"], "--seeds must be a whole number from 1 on"),
        (["table10", "--methods", "Nonsense"], "there is no method 'Nonsense'"),
        (["all", "--methods", "STAR-FC"], "one table at a time"),
        (["table10", "--data", "a/x.npz"], "a/x.npz does not exist"),
        (["table10", "--data", "digits.npz", "--data", "./digits.npz"], "two sets have the same name"),
        (["theorem", "--methods", "all"], "has no methods"),
        (["table99"], "unknown table or figure 'table99'; there are all, table1, figure3, table2"),
    ],
)
def test_a_mistake_gets_one_sentence(kinfolk, one_cell, arguments, sentence):
    kf.datasets.digits().save(one_cell / "digits.npz")
    code, out, err = kinfolk("reproduce", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1
