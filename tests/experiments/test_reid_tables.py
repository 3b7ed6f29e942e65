"""Tables 4 and 11: the re-identification protocol on given and enhanced features."""

import re
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.experiments import reid_tables as tables
from kinfolk.experiments.feature_methods import BAND, LABEL_FREE, ORIGINAL, FeatureCache, FeatureMethod
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.reid_tables import COSINE_RANKED, STUDIES, Ranked, query_rows, reid_cells
from kinfolk.experiments.resume import Data
from kinfolk.experiments.task_cells import ScoredCell, TaskCell


def scores(test, Z, ranked="cosine", **settings):
    asking = test.query
    r = kf.rerank.METHODS[ranked](Z[asking], Z[~asking], top=None, **settings)
    found = kf.metrics.reid(r, test.labels[asking], test.labels[~asking], test.cameras[asking], test.cameras[~asking])
    return 100 * found.map, 100 * found.rank1


@pytest.mark.parametrize("ranked", [COSINE_RANKED, Ranked("kr"), Ranked("kr", literature=True)])
def test_a_cell_is_the_protocol_on_the_ranking(tiny, ranked):
    row = tables.measure(FeatureCache(), TaskCell("tiny", ORIGINAL, ranked), tiny, "")
    wanted = scores(tiny.test, tiny.test.features, ranked.method, **(dict(preset="paper") if ranked.literature else {}))
    assert (row.scores["map"], row.scores["r1"]) == pytest.approx(wanted)
    if ranked.literature:
        assert row.chosen["k1"] == 20


def test_queries_and_gallery_are_enhanced_together(tiny):
    row = tables.measure(FeatureCache(), TaskCell("tiny", LABEL_FREE, COSINE_RANKED), tiny, "")
    Z = kf.GraphEnhancer(show_progress=False).fit(tiny.test).transform(tiny.test)
    assert (row.scores["map"], row.scores["r1"]) == pytest.approx(scores(tiny.test, Z))
    assert not row.trained


@pytest.mark.filterwarnings("ignore::kinfolk.enhance.KeptTrainingFreeWarning")
@pytest.mark.parametrize("labelled", [False, True])
def test_re_ranking_enhanced_features_is_what_band_does(tiny, labelled, few_steps):
    method = FeatureMethod("quick", dict(k=8), labelled)
    row = tables.measure(FeatureCache(), TaskCell("tiny", method, Ranked("kr")), tiny, "")
    train, test = tiny.train, tiny.test
    enhancer = kf.GraphEnhancer(k=8, show_progress=False)
    enhancer.fit(train, train.labels) if labelled else enhancer.fit(test)
    query, gallery = test.take(test.query), test.take(~test.query)
    class_k = {} if labelled else dict(class_k=8)
    band = kf.rerank.band(query, gallery, "kr", enhancer=enhancer, top=None, **class_k)
    assert {name: band.settings[name] for name in row.chosen} == row.chosen
    cameras = test.cameras[test.query], test.cameras[~test.query]
    found = kf.metrics.reid(band, test.labels[test.query], test.labels[~test.query], *cameras)
    assert row.scores["map"] == pytest.approx(100 * found.map, abs=0.5)


def test_without_queries_one_item_of_each_identity_asks(tiny):
    labels = np.repeat([4, 7, 9], 5)
    fs = kf.FeatureSet(np.random.default_rng(0).random((15, 3)), labels=labels)
    asking = query_rows(fs)
    assert sorted(labels[asking]) == [4, 7, 9]
    assert (query_rows(fs) == asking).all()
    assert (query_rows(tiny.test) == tiny.test.query).all()
    data = Data(tiny.train, fs)
    row = tables.measure(FeatureCache(), TaskCell("drawn", ORIGINAL, COSINE_RANKED), data, "")
    wanted = kf.metrics.reid(
        kf.metrics.cosine_ranking(fs.features[asking], fs.features[~asking]), labels[asking], labels[~asking]
    )
    assert row.scores["map"] == pytest.approx(100 * wanted.map, abs=1e-4)


def test_the_key_follows_the_protocol(tiny):
    cell, data = TaskCell("tiny", ORIGINAL, COSINE_RANKED), tiny
    test = data.test
    other_cameras = kf.FeatureSet(test.features, test.labels, test.cameras + 1, query=test.query)
    other_queries = kf.FeatureSet(test.features, test.labels, test.cameras, query=~test.query)
    keys = {cell.key(Data(data.train, part)) for part in (test, other_cameras, other_queries)}
    keys.add(TaskCell("tiny", ORIGINAL, Ranked("kr")).key(data))
    keys.add(TaskCell("tiny", ORIGINAL, Ranked("kr", literature=True)).key(data))
    assert len(keys) == 5


@pytest.mark.parametrize("name", ["table4", "table11"])
def test_every_row_of_the_paper_is_in_the_table(name):
    made = dict(chosen={}, trained=True, seconds=2.0, fit_seconds=1.0)
    found = [
        (cell, ScoredCell.of(cell, "", scores=dict(map=80.0 + cell.seed + (cell.method is BAND), r1=90.0), **made))
        for cell in reid_cells(name, ["market1501"], [0, 1], None)
    ]
    (table,) = STUDIES[name].tables(found)
    rows = {row[0]: row[1:] for row in table.rows}
    assert {row["method"] for row in paper_table(name)} <= set(rows)
    assert rows["original"] == ("80.0", "**90.0**", "2.0", "62.76", "82.36", "79.00", "96.60")
    assert rows["band (kinfolk)"][:2] == ("**81.5 ± 0.7**", "**90.0 ± 0.0**")
    assert rows["original + KR"][3:] == ("76.46", "85.48", "82.32", "96.84")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kinfolk.enhance.KeptTrainingFreeWarning")  # the page says when that is
def test_the_page_for_users_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "reid.md").read_text()
    exec(compile("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), "reid.md", "exec"), {})
    printed = re.findall(r"mAP ([\d.]+)", capsys.readouterr().out)
    assert len(printed) == 5
    assert float(printed[-1]) > float(printed[0])
    assert len(kf.load("mine.npz")) > 0
