"""Mean average precision, beside a sort of every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.metrics import mean_average_precision, retrieval


def slow_map(X: np.ndarray, labels: list, asking: list[int] | None = None) -> float:
    """Sort all others of each row, best first and the lower row first among equals, and walk down the list."""
    unit = X.astype(np.float64) / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    scores = []
    for i in range(len(X)) if asking is None else asking:
        similarities = np.array([float(unit[i] @ unit[j]) for j in range(len(X))])
        ranking = [j for j in np.argsort(-similarities, kind="stable") if j != i]
        hits, precisions = 0, []
        for position, j in enumerate(ranking, start=1):
            if labels[j] == labels[i] and not (isinstance(labels[i], int) and labels[i] < 0):
                hits += 1
                precisions.append(hits / position)
        if precisions:
            scores.append(sum(precisions) / len(precisions))
    return sum(scores) / len(scores)


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
    X = EXACT_ROWS[rows]
    assert mean_average_precision(X, labels) == pytest.approx(slow_map(X, labels), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 50), classes=st.integers(1, 8), seed=st.integers(0, 999))
def test_it_equals_a_sort_of_random_rows(n, classes, seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, 6)), rng.integers(classes, size=n).tolist()
    labels[0] = labels[-1]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assume(n == 2 or np.diff(np.sort(unit @ unit.T, axis=1)[:, :-1], axis=1).min() > 1e-6)  # float32 tells them apart
    assert mean_average_precision(X, labels) == pytest.approx(slow_map(X, labels), abs=1e-12)


def test_labels_below_zero_are_of_nobodys_class():
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


def test_who_asks_can_be_chosen_or_drawn():
    rng = np.random.default_rng(3)
    X, labels = rng.standard_normal((40, 5)), rng.integers(4, size=40).tolist()
    asking = [3, 17, 20, 39]
    assert mean_average_precision(X, labels, queries=asking) == pytest.approx(slow_map(X, labels, asking))
    drawn = mean_average_precision(X, labels, n_queries=10, seed=1)
    assert drawn == mean_average_precision(X, labels, n_queries=10, seed=1)
    assert drawn != mean_average_precision(X, labels, n_queries=10, seed=2)
    everybody = mean_average_precision(X, labels)
    assert (
        mean_average_precision(X, labels, n_queries=40) == everybody == mean_average_precision(X, labels, n_queries=99)
    )
    one_of_them = {slow_map(X, labels, [i]) for i in asking}
    found = mean_average_precision(X, labels, queries=asking, n_queries=1)
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
    assert mean_average_precision(X, [0, 0, 1], queries=np.array([True, False, False])) == 1
    with pytest.raises(kf.InputError, match="row 1 has NaN"):
        mean_average_precision(np.vstack([X[0], np.full(3, np.nan), X[2]]), [0, 0, 1])
