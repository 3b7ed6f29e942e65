"""Retrieval scores, beside a sort of every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

import kinfolk as kf
from kinfolk.metrics import (
    cmc,
    mean_average_precision,
    mean_inverse_negative_penalty,
    query_scores,
    r_precision,
    retrieval,
    retrieval_report,
)


def slow_ranks(X: np.ndarray, labels: list, chosen: list[int] | None = None) -> dict[int, list[int]]:
    """Sort all others of each row, best first and the lower row first among equals: the positions of its class."""
    unit = X.astype(np.float64) / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    ranks = {}
    for i in range(len(X)) if chosen is None else chosen:
        similarities = np.array([float(unit[i] @ unit[j]) for j in range(len(X))])
        ranking = [j for j in np.argsort(-similarities, kind="stable") if j != i]
        known = not (isinstance(labels[i], int) and labels[i] < 0)
        found = [position for position, j in enumerate(ranking, start=1) if labels[j] == labels[i] and known]
        if found:
            ranks[i] = found
    return ranks


def slow_map(X: np.ndarray, labels: list, chosen: list[int] | None = None) -> float:
    """Average over the positions the share of hits so far, then over the rows."""
    scores = [
        np.mean([t / r for t, r in enumerate(found, start=1)]) for found in slow_ranks(X, labels, chosen).values()
    ]
    return sum(scores) / len(scores)


def check_all_scores(X: np.ndarray, labels: list) -> None:
    ranks = slow_ranks(X, labels)
    report, each = retrieval_report(X, labels, top=5), query_scores(X, labels)
    assert each.rows.tolist() == list(ranks)
    assert each.first_rank.tolist() == [found[0] for found in ranks.values()]
    assert report.queries == len(ranks)
    assert report.map == pytest.approx(slow_map(X, labels), abs=1e-12)
    precisions = [sum(r <= len(found) for r in found) / len(found) for found in ranks.values()]
    assert report.r_precision == pytest.approx(np.mean(precisions), abs=1e-12)
    assert report.minp == pytest.approx(np.mean([len(found) / found[-1] for found in ranks.values()]), abs=1e-12)
    first = [sum(found[0] <= r for found in ranks.values()) / len(ranks) for r in range(1, 6)]
    assert report.cmc.tolist() == pytest.approx(first, abs=1e-12)


# of length one, and with scalar products that floats hold exactly in whatever order they are added up: ties are ties
EXACT_ROWS = np.concatenate(
    [np.eye(4), -np.eye(4), [[0.5, 0.5, 0.5, 0.5], [0.5, -0.5, 0.5, -0.5], [-0.5, 0.5, 0.5, 0.5]]]
)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_it_equals_a_stable_sort_where_many_are_equal(data):
    rows = data.draw(st.lists(st.integers(0, len(EXACT_ROWS) - 1), min_size=3, max_size=25), label="rows")
    labels = data.draw(st.lists(st.integers(-2, 3), min_size=len(rows) - 1, max_size=len(rows) - 1), label="labels")
    labels = [*labels, 9]
    labels[0] = 9  # at least one pair
    check_all_scores(EXACT_ROWS[rows], labels)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 50), classes=st.integers(1, 8), seed=st.integers(0, 999))
def test_it_equals_a_sort_of_random_rows(n, classes, seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, 6)), rng.integers(classes, size=n).tolist()
    labels[0] = labels[-1]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assume(n == 2 or np.diff(np.sort(unit @ unit.T, axis=1)[:, :-1], axis=1).min() > 1e-6)  # float32 tells them apart
    check_all_scores(X, labels)


def test_labels_below_zero_are_of_no_class():
    X = np.random.default_rng(0).standard_normal((30, 5))
    labels = np.arange(30) % 4 - 1
    alone = np.where(labels < 0, 100 + np.arange(30), labels)
    assert mean_average_precision(X, labels) == mean_average_precision(X, alone)
    assert mean_average_precision(X, labels.astype(float)) == mean_average_precision(X, labels)


def test_labels_may_be_texts():
    X = np.random.default_rng(0).standard_normal((30, 5))
    labels = np.arange(30) % 3
    assert mean_average_precision(X, np.array(["a", "b", "c"])[labels]) == mean_average_precision(X, labels)


def test_perfect_and_worst():
    X = np.eye(3).repeat(4, axis=0) + 0.01
    assert mean_average_precision(X, np.arange(3).repeat(4)) == 1
    # the only other of the class comes last of three
    assert mean_average_precision(np.array([[1, 0], [0.9, 0.1], [0.8, 0.2], [-1, 0]]), [0, 1, 2, 0]) == pytest.approx(
        1 / 3
    )


def test_queries_can_be_chosen_or_drawn():
    rng = np.random.default_rng(3)
    X, labels = rng.standard_normal((40, 5)), rng.integers(4, size=40).tolist()
    chosen = [3, 17, 20, 39]
    assert mean_average_precision(X, labels, queries=chosen) == pytest.approx(slow_map(X, labels, chosen))
    drawn = mean_average_precision(X, labels, n_queries=10, seed=1)
    assert drawn == mean_average_precision(X, labels, n_queries=10, seed=1)
    assert drawn != mean_average_precision(X, labels, n_queries=10, seed=2)
    everybody = mean_average_precision(X, labels)
    assert mean_average_precision(X, labels, n_queries=40) == everybody
    with pytest.raises(kf.InputError, match="n_queries is 41, but there are only 40 queries to draw from"):
        mean_average_precision(X, labels, n_queries=41)
    with pytest.raises(kf.InputError, match="n_queries is 5, but there are only 4"):
        mean_average_precision(X, labels, queries=chosen, n_queries=5)
    one_of_them = {slow_map(X, labels, [i]) for i in chosen}
    found = mean_average_precision(X, labels, queries=chosen, n_queries=1)
    assert any(found == pytest.approx(score) for score in one_of_them)


@pytest.mark.parametrize("block", [1, 60, 61, 1000])
def test_the_size_of_a_block_does_not_matter(monkeypatch, block):
    rng = np.random.default_rng(3)
    exact, labels = EXACT_ROWS[rng.integers(len(EXACT_ROWS), size=60)], rng.integers(5, size=60)
    random = rng.standard_normal((60, 7))
    whole = [mean_average_precision(X, labels) for X in (exact, random)]
    monkeypatch.setattr(retrieval, "BLOCK_SIMILARITIES", block)
    assert [mean_average_precision(X, labels) for X in (exact, random)] == pytest.approx(whole, abs=1e-12)


def test_features_may_come_in_any_form():
    fs = kf.datasets.celeb_like(6, dim=16)
    assert mean_average_precision(fs, fs.labels) == mean_average_precision(np.array(fs.features), fs.labels.tolist())
    assert mean_average_precision(3 * fs.features, fs.labels) == pytest.approx(mean_average_precision(fs, fs.labels))


def test_each_score_alone_is_that_of_the_report():
    rng = np.random.default_rng(3)
    X, labels = rng.standard_normal((90, 5)), rng.integers(6, size=90)
    chosen = dict(n_queries=40, seed=3)
    report = retrieval_report(X, labels, top=7, **chosen)
    assert report.map == mean_average_precision(X, labels, **chosen)
    assert report.r_precision == r_precision(X, labels, **chosen)
    assert report.minp == mean_inverse_negative_penalty(X, labels, **chosen)
    assert report.cmc.tolist() == cmc(X, labels, top=7, **chosen).tolist()
    assert len(report.cmc) == 7


def test_kin_that_differ_by_less_than_a_bin_are_told_apart():
    """Hundreds of kin and strangers within a hair's breadth, and one kin far away that makes the bins wide."""
    rng = np.random.default_rng(0)
    angles = np.concatenate([0.3 + 1e-3 * rng.random(300), [3.0, 0.0]])
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    labels = np.concatenate([rng.integers(2, size=300), [0, 0]])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    order = np.argsort(-(unit[-1:] @ unit.T)[0, :-1], kind="stable")
    ranks = 1 + np.flatnonzero(labels[order] == 0)
    expected = np.mean(np.arange(1, len(ranks) + 1) / ranks)
    assert mean_average_precision(X, labels, queries=[301]) == pytest.approx(expected, abs=1e-3)


def test_real_rows_agree_with_scikit_learn(shared_data):
    fs = kf.load(shared_data / "omniglot.npz", part="test")
    chosen = np.arange(0, len(fs), len(fs) // 25)
    X = fs.features / np.linalg.norm(fs.features, axis=1, keepdims=True)
    expected = []
    for i in chosen:
        others = np.arange(len(fs)) != i
        expected.append(average_precision_score((fs.labels == fs.labels[i])[others], (X @ X[i])[others]))
    assert query_scores(fs, fs.labels, queries=chosen).average_precision == pytest.approx(expected, abs=1e-4)


def test_what_has_no_answer_is_refused():
    X = np.eye(3) + 0.1
    with pytest.raises(kf.InputError, match="as many labels"):
        mean_average_precision(X, [0, 0])
    for labels in ([0, 1, 2], [-1, -1, -1]):
        with pytest.raises(kf.InputError, match="at least two items"):
            mean_average_precision(X, labels)
    with pytest.raises(kf.InputError, match="at least two items"):
        mean_average_precision(X, [0, 0, 1], queries=[2])
    with pytest.raises(kf.InputError, match="at least two items"):
        mean_average_precision(X, [0, 0, 1], queries=[])
    for queries in ([3], [-1], [0.5], np.array([True, False])):
        with pytest.raises(kf.InputError, match="row numbers from 0 to 2"):
            mean_average_precision(X, [0, 0, 1], queries=queries)
    with pytest.raises(kf.InputError, match="n_queries"):
        mean_average_precision(X, [0, 0, 1], n_queries=0)
    with pytest.raises(kf.InputError, match="top must be a whole number from 1 on"):
        cmc(X, [0, 0, 1], top=0)
    assert mean_average_precision(X, [0, 0, 1], queries=np.array([True, False, False])) == 1
    with pytest.raises(kf.InputError, match="row 1 has NaN"):
        mean_average_precision(np.vstack([X[0], np.full(3, np.nan), X[2]]), [0, 0, 1])
