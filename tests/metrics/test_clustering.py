"""Clustering scores beside loops over all pairs, and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

import kinfolk as kf
from kinfolk.metrics import (
    ari,
    bcubed,
    by_class_size,
    clustering_report,
    nmi,
    pairwise,
    v_measure,
)

LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=40)
WITH_UNKNOWN = st.lists(st.tuples(st.integers(-2, 4), st.integers(-2, 5)), min_size=1, max_size=40)


def f_score(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def scored(y, p):
    """The items with a known class; who has no cluster gets one that nobody else has."""
    return [(c, k if k >= 0 else f"alone {i}") for i, (c, k) in enumerate(zip(y, p, strict=True)) if c >= 0]


def slow_pairwise(items, chosen=None):
    """Look at all ordered pairs (i, j) of different items, i one of the chosen ones."""
    together = in_cluster = in_class = 0
    for i in range(len(items)) if chosen is None else chosen:
        for j in range(len(items)):
            if i != j:
                same_class, same_cluster = items[i][0] == items[j][0], items[i][1] == items[j][1]
                together += same_class and same_cluster
                in_cluster += same_cluster
                in_class += same_class
    precision = together / in_cluster if in_cluster else 1.0
    recall = together / in_class if in_class else 1.0
    return precision, recall, f_score(precision, recall)


def slow_bcubed(items, chosen=None):
    """For each item: the share of its class in its cluster, and of its cluster in its class."""
    precisions, recalls = [], []
    for i in range(len(items)) if chosen is None else chosen:
        mine = {j for j in range(len(items)) if items[j][0] == items[i][0]}
        ours = {j for j in range(len(items)) if items[j][1] == items[i][1]}
        precisions.append(len(mine & ours) / len(ours))
        recalls.append(len(mine & ours) / len(mine))
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return precision, recall, f_score(precision, recall)


@settings(max_examples=150, deadline=None)
@given(WITH_UNKNOWN)
def test_pairwise_and_bcubed_equal_loops_over_all_pairs(pairs):
    y, p = (list(column) for column in zip(*pairs, strict=True))
    items = scored(y, p)
    if not items:
        with pytest.raises(kf.InputError, match="no known class"):
            pairwise(y, p)
        return
    assert pairwise(y, p) == pytest.approx(slow_pairwise(items), abs=1e-12)
    assert bcubed(y, p) == pytest.approx(slow_bcubed(items), abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(LABELS)
def test_scores_equal_those_of_scikit_learn(pairs):
    y, p = zip(*pairs, strict=True)
    assert ari(y, p) == pytest.approx(sk.adjusted_rand_score(y, p), abs=1e-12)
    assert nmi(y, p) == pytest.approx(sk.normalized_mutual_info_score(y, p), abs=1e-7)
    assert v_measure(y, p) == pytest.approx(sk.homogeneity_completeness_v_measure(y, p), abs=1e-7)
    (_, wrong), (missed, together) = sk.cluster.pair_confusion_matrix(y, p)
    score = pairwise(y, p)
    assert score.precision == pytest.approx(together / (together + wrong) if together + wrong else 1.0)
    assert score.recall == pytest.approx(together / (together + missed) if together + missed else 1.0)


@settings(max_examples=60, deadline=None)
@given(WITH_UNKNOWN.filter(lambda pairs: max(c for c, _ in pairs) >= 0))
def test_the_report_holds_what_the_functions_return(pairs):
    y, p = zip(*pairs, strict=True)
    report = clustering_report(y, p, edges=[2, 4])
    items = scored(y, p)
    clusters = [k for _, k in items]
    assert report.items == len(items)
    assert report.classes == len({c for c, _ in items})
    assert report.clusters == len(set(clusters))
    assert report.singletons == sum(clusters.count(k) == 1 for k in set(clusters))
    assert (report.pairwise, report.bcubed, report.nmi, report.ari) == (
        pairwise(y, p),
        bcubed(y, p),
        nmi(y, p),
        ari(y, p),
    )
    assert report.v_measure == v_measure(y, p)
    assert report.by_class_size == by_class_size(y, p, [2, 4])


@settings(max_examples=60, deadline=None)
@given(WITH_UNKNOWN.filter(lambda pairs: max(c for c, _ in pairs) >= 0))
def test_buckets_are_scored_from_the_side_of_their_items(pairs):
    y, p = zip(*pairs, strict=True)
    items = scored(y, p)
    sizes = [sum(c == other for other, _ in items) for c, _ in items]
    buckets = by_class_size(y, p, edges=[2, 5, 9])
    assert sum(bucket.items for bucket in buckets) == len(items)
    assert [bucket.smallest for bucket in buckets] == sorted({max(e for e in (1, 2, 5, 9) if e <= s) for s in sizes})
    for bucket in buckets:
        inside = [i for i, size in enumerate(sizes) if bucket.smallest <= size <= (bucket.largest or len(items))]
        assert bucket.items == len(inside)
        assert bucket.classes == len({items[i][0] for i in inside})
        assert bucket.pairwise == pytest.approx(slow_pairwise(items, inside), abs=1e-12)
        assert bucket.bcubed == pytest.approx(slow_bcubed(items, inside), abs=1e-12)


def test_where_nothing_can_be_wrong_nothing_is():
    alone, one = [-1, -1, -1, -1], [3, 3, 3, 3]
    assert pairwise([0, 0, 1, 1], alone) == (1.0, 0.0, 0.0)
    assert bcubed([0, 0, 1, 1], alone) == pytest.approx((1.0, 0.5, 2 / 3))
    assert pairwise([0, 0, 1, 1], one) == pytest.approx((1 / 3, 1.0, 0.5))
    assert bcubed([0, 0, 1, 1], one) == pytest.approx((0.5, 1.0, 2 / 3))
    assert pairwise(range(4), alone) == bcubed(range(4), alone) == (1.0, 1.0, 1.0)
    assert pairwise(one, one) == bcubed(one, one) == v_measure(one, one) == (1.0, 1.0, 1.0)
    assert ari(range(4), alone) == ari(one, one) == nmi(one, one) == nmi(range(4), alone) == 1.0
    assert v_measure(one, alone) == (1.0, 0.0, 0.0)
    assert pairwise([7], [-1]) == bcubed([7], [-1]) == (1.0, 1.0, 1.0)


def test_labels_may_be_words_large_numbers_or_whole_floats():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 5, 60), rng.integers(-1, 6, 60)
    words = np.array(["", *"abcdef"])
    expected = clustering_report(y, p)
    assert clustering_report(words[y + 1], words[p + 1]) == expected
    assert clustering_report(words[y + 1].astype(object), words[p + 1].tolist()) == expected
    assert clustering_report(y.astype(np.uint8), p.astype(np.float32)) == expected
    assert clustering_report(y + 2**62, np.where(p < 0, p, p * 10**12)) == expected
    assert clustering_report(y > 2, p) == clustering_report((y > 2).astype(int), p)


def test_many_items_in_one_cluster_do_not_overflow():
    n = 400_000  # 8e10 pairs
    y, p = np.arange(n, dtype=np.int32) // 2, np.zeros(n, dtype=np.int8)
    score = pairwise(y, p)
    assert score.precision == pytest.approx(1 / (n - 1), rel=1e-12)
    assert score.recall == 1.0
    assert bcubed(y, p).precision == pytest.approx(2 / n, rel=1e-12)


def test_real_clusters_of_real_labels_agree_with_scikit_learn(shared_data):
    labels = kf.load(shared_data / "market1501.npz", part="test").labels
    known = labels >= 0
    rng = np.random.default_rng(0)
    p = np.where(rng.random(len(labels)) < 0.2, rng.integers(0, 900, len(labels)), labels + 1000)
    report = clustering_report(labels, p)
    assert report.items == known.sum()
    assert report.ari == pytest.approx(sk.adjusted_rand_score(labels[known], p[known]), abs=1e-12)
    assert report.nmi == pytest.approx(sk.normalized_mutual_info_score(labels[known], p[known]), abs=1e-9)


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(kf.InputError, match="do not agree"):
        pairwise([0, 1], [0, 1, 2])
    with pytest.raises(kf.InputError, match="one label a row"):
        pairwise([[0, 1]], [[0, 1]])
    with pytest.raises(kf.InputError, match="no known class"):
        bcubed([-1, -1], [0, 0])
    with pytest.raises(kf.InputError, match="no known class"):
        bcubed([], [])
    for bad in ([0.5, 1.0], [np.nan, 1.0], [None, 1]):
        with pytest.raises(kf.InputError, match="whole numbers or texts"):
            nmi(bad, [0, 0])
        with pytest.raises(kf.InputError, match="whole numbers or texts"):
            nmi([0, 0], bad)
    for edges in ([5, 2], [0], [2, 2], [1.5]):
        with pytest.raises(kf.InputError, match="rising whole numbers"):
            by_class_size([0, 0], [0, 0], edges)
