import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.experiments import clustering_methods as ways
from kinfolk.experiments import clustering_tables as tables
from kinfolk.experiments.clustering_methods import CLASSICAL, G_CUT, INFOMAP, KIN, PEERS, TODAY, Sample, balance
from kinfolk.experiments.clustering_tables import STUDIES, Clustering, clustering_cells
from kinfolk.experiments.feature_methods import BAND, FORMS, LABEL_FREE, ORIGINAL, Method, Workshop, half_of
from kinfolk.experiments.paper import paper_table
from kinfolk.experiments.resume import Data, Results
from kinfolk.experiments.task_cells import Scored, TaskCell


@cache
def tiny(seed=0):
    return Data.of(kf.datasets.person_like(30, seed=seed, dim=64))


def test_a_cell_is_tuned_on_train_and_scored_on_test_and_measured_once(tmp_path):
    cell = TaskCell("tiny", ORIGINAL, Clustering(G_CUT))
    data = tiny()
    row = tables.measure(Workshop(), cell, data, cell.key(data))
    threshold = kf.cluster.GCut(k=80).tune(data.train, data.train.labels).threshold
    assert row.chosen == dict(threshold=threshold)
    clusters = kf.cluster.GCut(k=80, threshold=threshold).fit_predict(data.test)
    assert row.scores["fp"] == pytest.approx(100 * kf.metrics.pairwise(data.test.labels, clusters).f)
    assert row.scores["fb"] == pytest.approx(100 * kf.metrics.bcubed(data.test.labels, clusters).f)
    study = replace(STUDIES["table10"], cells=lambda names, seeds, made: [cell])
    lines = []
    for _ in range(2):
        found = study.run(Results(tmp_path / "r.jsonl", Scored), [0], {"tiny": data}, say=lines.append)
    assert found[0][1].scores == row.scores
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 1
    assert "as measured before" in lines[1] and "as measured before" not in lines[0]


@pytest.mark.parametrize("way", [*CLASSICAL, *TODAY, G_CUT, INFOMAP], ids=lambda way: way.name)
def test_every_way_tunes_and_clusters(way):
    data = tiny()
    train, test = Sample(data.train.features, data.train.labels), Sample(data.test.features, data.test.labels)
    chosen = way.tune(way, train, 0) if way.tune else {}
    json.dumps(chosen)
    clusters = way.clusters(test, 0, chosen)
    assert clusters.shape == test.labels.shape
    assert balance(train.labels, way.clusters(train, 0, chosen)) > 0.3


def test_tuning_takes_the_best_on_the_sample():
    data = tiny()
    sample = Sample(data.train.features, data.train.labels)
    hac = next(way for way in CLASSICAL if way.name == "HAC")
    best = balance(sample.labels, hac.clusters(sample, 0, hac.tune(hac, sample, 0)))
    for threshold in (0.1, 0.3, 0.5, 0.7):
        assert balance(sample.labels, hac.clusters(sample, 0, dict(threshold=threshold))) <= best + 0.01


def test_thresholds_of_a_trained_form_are_tuned_on_identities_it_has_not_seen(monkeypatch):
    seen = []
    fit = kf.GraphEnhancer.fit
    monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda self, X, y=None: (seen.append((X, y)), fit(self, X, y))[1])
    data = tiny()
    trained = Method("quick", dict(model="subgraph", attention="band", steps=1, k=5))
    tuning = Workshop().tuning(trained, data, seed=0)
    (_, labels) = seen[-1]
    assert set(labels) & set(tuning.labels) == set()
    assert set(labels) | set(tuning.labels) == set(data.train.labels)
    free = Workshop().tuning(LABEL_FREE, data, seed=0)
    assert seen[-1][1] is None and len(free.labels) == len(data.train)


def test_the_workshop_fits_once_for_cells_that_follow_each_other(monkeypatch):
    fits = []
    fit = kf.GraphEnhancer.fit
    monkeypatch.setattr(kf.GraphEnhancer, "fit", lambda self, X, y=None: (fits.append(1), fit(self, X, y))[1])
    workshop = Workshop()
    first, second = (workshop.test(LABEL_FREE, tiny(), 0) for _ in range(2))
    assert first is second and len(fits) == 1
    assert workshop.test(ORIGINAL, tiny(), 0).enhancer is None


def test_kin_gets_the_trained_enhancer(monkeypatch):
    given = []

    class Spy:
        def __init__(self, enhancer, random_state):
            given.append(enhancer)

        def fit_predict(self, X):
            return np.zeros(len(X), dtype=int)

    monkeypatch.setattr(ways.cluster, "Kin", Spy)
    for method in (ORIGINAL, LABEL_FREE):
        tables.measure(Workshop(), TaskCell("tiny", method, Clustering(KIN)), tiny(), "")
    assert given[0] == "auto" and isinstance(given[1], kf.GraphEnhancer)


def test_half_of_the_identities_is_half_and_follows_the_seed():
    labels = np.repeat(np.arange(10), 3)
    assert len(set(labels[half_of(labels, 0)])) == 5
    assert any((half_of(labels, 0) != half_of(labels, seed)).any() for seed in range(1, 4))


def test_nothing_random_on_given_data_needs_one_seed():
    cells = clustering_cells(["market1501"], [0, 1, 2], None)
    seeds = {}
    for cell in cells:
        seeds.setdefault(cell.row, []).append(cell.seed)
    assert seeds["HAC"] == [0] and seeds["original + G-cut"] == [0]
    assert seeds["K-Means"] == seeds["GCN w/ band + G-cut"] == [0, 1, 2]
    assert len(clustering_cells(["celeb_like"], [0, 1], "usual")) == 2 * 28


def test_the_key_follows_data_seed_features_and_way():
    data = tiny()
    cell = TaskCell("tiny", ORIGINAL, Clustering(G_CUT))
    others = [
        TaskCell("tiny", ORIGINAL, Clustering(G_CUT), seed=1),
        TaskCell("tiny", BAND, Clustering(G_CUT)),
        TaskCell("tiny", LABEL_FREE, Clustering(G_CUT)),
        TaskCell("tiny", ORIGINAL, Clustering(INFOMAP)),
        TaskCell("tiny", ORIGINAL, Clustering(ways.Way("G-cut", "GCut", dict(k=20), ways.cut_gcut))),
    ]
    assert len({other.key(data) for other in others} | {cell.key(data), cell.key(tiny(1))}) == len(others) + 2
    assert TaskCell("another name", ORIGINAL, Clustering(G_CUT)).key(data) == cell.key(data)


@pytest.mark.parametrize("name", ["table3", "table10"])
def test_every_row_of_the_paper_is_in_the_table(name):
    made = dict(chosen={}, trained=True, seconds=2.0, fit_seconds=1.0)
    found = []
    for cell in STUDIES[name].plan([0, 1], None)[0]:  # without the slow ones: they show the paper's numbers alone
        high = cell.method is BAND and cell.task.way is KIN
        scores = dict(fp=90.0 if high else 80.0 + cell.seed, fb=70.0)
        found.append((cell, Scored.of(cell, "", scores=scores, **made)))
    (table,) = STUDIES[name].tables(found)
    rows = {row[0]: row[1:] for row in table.rows}
    assert {row["method"] for row in paper_table(name)} <= set(rows)
    assert rows["original + G-cut"][0] == "80.5 ± 0.7"
    assert rows["band (kinfolk) + Kin"][:3] == ("**90.0 ± 0.0**", "**70.0 ± 0.0**", "2.0")
    assert rows["Ada-NETS"][:3] == ("–", "–", "–")
    assert rows["Ada-NETS"][3:] == (("92.79", "91.40") if name == "table3" else ("73.51", "77.40"))
    assert "| Ada-NETS | – |" in table.markdown
    assert len(table.head) == len(table.rows[0]) == 1 + 3 + 2
    assert len(FORMS) == 8


def test_learned_peers_are_fitted_to_train_and_measured_where_all_are_asked_for():
    study, data = STUDIES["table10"], tiny()
    names = [way.name for way in PEERS]
    default = {cell.row for cell in study.plan([0], {"tiny": data})[0]}
    every = {cell.row for cell in study.plan([0], {"tiny": data}, methods=["all"])[0]}
    assert every - default == set(names) and default < every
    assert [cell.row for cell in study.plan([0], {"tiny": data}, methods=["Ada-NETS"])[0]] == ["Ada-NETS"]
    with pytest.raises(kf.InputError, match="no method 'Ada'"):
        study.plan([0], {"tiny": data}, methods=["Ada"])
    fast = replace(PEERS[1], settings=dict(steps=5))
    row = tables.measure(Workshop(), TaskCell("tiny", ORIGINAL, Clustering(fast), seed=3), data, "")
    model = kf.cluster.StarFC(steps=5, random_state=3).fit(data.train, data.train.labels)
    clusters = model.predict(data.test)
    assert row.scores["fp"] == pytest.approx(100 * kf.metrics.pairwise(data.test.labels, clusters).f)
    assert row.chosen == dict(k=model.k_, **model.settings_)
    json.dumps(row.chosen)
