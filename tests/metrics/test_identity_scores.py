"""Weighted scores beside sets that really are made of the drawn classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import kinfolk as kf
from kinfolk.metrics import (
    clustering_scores,
    graph_scores,
    mean_average_precision,
    pair_auc,
    query_scores,
    retrieval_scores,
    tpr_at_fpr,
)


def drawn_items(y, p, weights):
    """The items of a resample: (class, draw, cluster)."""
    return [(c, draw, k) for c, k in zip(y, p, strict=True) for draw in range(weights[c])]


def slow_resample(y, p, weights):
    """Pairwise and BCubed of a set of drawn classes, by looking; draws of the same class do not see each other."""
    items = drawn_items(y, p, weights)
    together = in_cluster = in_class = 0
    precisions, recalls = [], []
    for i, (c, draw, k) in enumerate(items):
        seen = [(j, other) for j, other in enumerate(items) if other[0] != c or other[1] == draw]
        cluster = {j for j, other in seen if other[2] == k}
        kin = {j for j, other in seen if other[0] == c}
        precisions.append(len(kin & cluster) / len(cluster))
        recalls.append(len(kin & cluster) / len(kin))
        together += len(kin & cluster - {i})
        in_cluster += len(cluster - {i})
        in_class += len(kin - {i})
    return dict(
        pairwise_precision=together / in_cluster if in_cluster else 1.0,
        pairwise_recall=together / in_class if in_class else 1.0,
        bcubed_precision=np.mean(precisions),
        bcubed_recall=np.mean(recalls),
    )


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_weights_count_classes_that_were_drawn_again(data):
    n = data.draw(st.integers(3, 14))
    y = [0, 1, 2, *data.draw(st.lists(st.integers(0, 2), min_size=n - 3, max_size=n - 3))]
    p = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = data.draw(st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(sum))
    scores = clustering_scores(y, p)
    found = dict(zip(scores.names, scores.at(np.array(weights, dtype=float)), strict=True))
    for name, value in slow_resample(y, p, weights).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def test_classes_drawn_at_most_once_are_simply_a_smaller_set():
    rng = np.random.default_rng(0)
    y, p = np.arange(200) % 20, rng.integers(-1, 12, 200)
    weights = rng.integers(0, 2, 20)
    inside = weights[y] > 0
    scores = clustering_scores(y, p)
    smaller = clustering_scores(y[inside], p[inside]).values()
    found = dict(zip(scores.names, scores.at(weights.astype(float)), strict=True))
    assert found == pytest.approx(smaller, abs=1e-12)  # every score: nmi, ari, homogeneity and completeness, too
    report = kf.metrics.clustering_report(y, p)
    assert scores.values()["ari"] == report.ari
    assert scores.values()["homogeneity"] == report.v_measure.homogeneity
    assert scores.values()["pairwise_f"] == report.pairwise.f


def features(rng, n=80, classes=9):
    y = rng.integers(0, classes, n)
    return np.eye(classes)[y] + 0.5 * rng.standard_normal((n, classes)), y


def test_retrieval_weights_the_queries_by_their_class():
    rng = np.random.default_rng(0)
    X, y = features(rng)
    y[:3] = -1
    scores = retrieval_scores(X, y, ranks=(1, 3))
    weights = rng.integers(0, 4, 9)
    per_query = query_scores(X, y)
    w = weights[y[per_query.rows]]
    found = dict(zip(scores.names, scores.at(weights.astype(float)), strict=True))
    assert found["map"] == pytest.approx(np.average(per_query.average_precision, weights=w))
    assert found["minp"] == pytest.approx(np.average(per_query.inverse_penalty, weights=w))
    assert found["cmc_3"] == pytest.approx(np.average(per_query.first_rank <= 3, weights=w))
    assert scores.values()["map"] == pytest.approx(mean_average_precision(X, y))


@pytest.mark.parametrize("decimals", [1, 6])
def test_graph_scores_repeat_the_edges_of_drawn_rows(decimals):
    rng = np.random.default_rng(2)
    X, y = features(rng)
    g = kf.knn_graph(X, 6)
    values = g.similarities.round(decimals)  # rounding makes ties
    fprs = [0, 0.01, 0.1, 1]
    scores = graph_scores(g, y, values, fprs)
    whole = scores.values()
    assert whole["auc"] == pytest.approx(pair_auc(g, values, y))
    assert [whole[f"tpr_at_fpr_{fpr:g}"] for fpr in fprs] == pytest.approx(tpr_at_fpr(g, values, y, fprs).tolist())
    assert whole["edge_noise_rate"] == pytest.approx(kf.metrics.edge_noise_rate(g, y))
    weights = rng.integers(0, 3, 9)
    rows = np.repeat(np.arange(len(y)), weights[y])
    kin = (y[g.indices] == y[:, None])[rows].ravel()
    found = scores.at(weights.astype(float))
    assert found[0] == pytest.approx(1 - kin.mean())
    assert found[1] == pytest.approx(roc_auc_score(kin, values[rows].ravel()))
    assert graph_scores(g, y).values() == {"edge_noise_rate": pytest.approx(whole["edge_noise_rate"])}


def test_a_row_of_unknown_class_is_an_identity_of_its_own():
    X, y = features(np.random.default_rng(2))
    y[:5] = -1
    scores = graph_scores(kf.knn_graph(X, 6), y)
    assert scores.identities == 9 + 5
    assert scores.values()["edge_noise_rate"] == pytest.approx(kf.metrics.edge_noise_rate(kf.knn_graph(X, 6), y))


def test_edge_scores_that_cannot_be_scored_are_refused():
    g = kf.knn_graph(np.eye(4) + 0.1, 2)
    with pytest.raises(kf.InputError, match="aligned"):
        graph_scores(g, [0, 0, 1, 1], np.ones((4, 3)))
    with pytest.raises(kf.InputError, match="an AUC needs both kinds"):
        graph_scores(g, [0, 1, 2, 3], g.similarities)


def test_reid_scores_are_those_of_reid_and_of_queries_drawn_again():
    rng = np.random.default_rng(3)
    asked, known = rng.integers(0, 6, 40), rng.integers(0, 6, 90)
    seen_by, cameras = rng.integers(0, 3, 40), rng.integers(0, 3, 90)
    ranking = np.argsort(rng.random((40, 90)), axis=1)
    whole = kf.metrics.reid(ranking, asked, known, seen_by, cameras)
    scores = kf.metrics.reid_scores(ranking, asked, known, seen_by, cameras)
    values = scores.values()
    assert values == pytest.approx(
        dict(map=whole.map, minp=whole.minp, cmc_1=whole.rank1, cmc_5=whole.rank5, cmc_10=whole.rank10)
    )
    weights = np.array([2, 0, 1, 3, 0, 1])
    again = np.repeat(np.arange(40), weights[asked])
    drawn = kf.metrics.reid(ranking[again], asked[again], known, seen_by[again], cameras)
    found = dict(zip(scores.names, scores.at(weights.astype(float)), strict=True))
    assert found["map"] == pytest.approx(drawn.map)
    assert found["cmc_5"] == pytest.approx(drawn.rank5)
