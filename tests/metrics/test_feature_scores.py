"""One number for the features of a set: by its queries and cameras, or every row against all others."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.metrics import cosine_ranking, feature_scores, reid, retrieval_report


@pytest.fixture(scope="module")
def persons():
    return kf.datasets.person_like(20, seed=0).part("test")


def sides(fs):
    return fs.take(fs.query), fs.take(~fs.query)


def test_a_set_that_marks_queries_is_scored_by_the_protocol(persons):
    query, gallery = sides(persons)
    found = feature_scores(persons)
    expected = reid(cosine_ranking(query, gallery), query.labels, gallery.labels, query.cameras, gallery.cameras)
    scores = found.scores.values()
    assert found.protocol == "reid"
    assert (scores["map"], scores["minp"]) == pytest.approx((expected.map, expected.minp))
    assert [scores[f"cmc_{r}"] for r in (1, 5, 10)] == pytest.approx([expected.rank1, expected.rank5, expected.rank10])
    assert str(found).startswith(f"{len(query):,} queries against a gallery of {len(gallery):,} rows")
    assert feature_scores(query, gallery).scores.values() == scores  # two sets: the first are the queries
    without = feature_scores(replace(persons, cameras=None)).scores.values()["map"]
    assert without == pytest.approx(reid(cosine_ranking(query, gallery), query.labels, gallery.labels).map)
    assert without != pytest.approx(scores["map"], abs=0.01)


@pytest.mark.parametrize("query", [None, "nobody", "everybody"])
def test_without_queries_every_row_is_one(persons, query):
    masks = dict(nobody=np.zeros(len(persons), bool), everybody=np.ones(len(persons), bool))
    fs = replace(persons, query=masks.get(query))
    found = feature_scores(fs)
    assert (found.protocol, str(found)) == ("retrieval", f"each of {len(fs):,} rows against all others")
    assert found.scores.values()["map"] == pytest.approx(retrieval_report(fs, fs.labels).map)
    with pytest.raises(kf.InputError, match="does not mark which rows are queries"):
        feature_scores(fs, protocol="reid")
    assert feature_scores(persons, protocol="retrieval").scores.values() == found.scores.values()


def test_a_draw_is_that_of_the_library_and_is_named(persons, monkeypatch):
    fs = replace(persons, query=None)
    found = feature_scores(fs, n_queries=30, seed=4)
    expected = kf.metrics.mean_average_precision(fs, fs.labels, n_queries=30, seed=4)
    assert found.scores.values()["map"] == pytest.approx(expected)
    assert str(found) == f"30 of {len(fs):,} rows, drawn with seed 4, against all others"
    assert len(feature_scores(persons, n_queries=5).scores.rows) <= 5
    monkeypatch.setattr(sys.modules[feature_scores.__module__], "QUERIES", 10)
    assert feature_scores(fs).drawn == feature_scores(persons).drawn == 10
    assert feature_scores(fs, n_queries=None).drawn == len(fs)
    with pytest.raises(kf.InputError, match="n_queries is 10,000, but there are only"):
        feature_scores(fs, n_queries=10_000)


def test_queries_without_an_item_to_find_are_counted():
    fs = kf.FeatureSet(np.eye(4) + 0.1, labels=[0, 1, 0, 2], query=[True, True, False, False])
    assert str(feature_scores(fs)).endswith("gallery of 2 rows; 1 queries without an item to find are left out")
    with pytest.raises(kf.InputError, match="this set has none"):
        feature_scores(kf.FeatureSet(np.eye(4)))
