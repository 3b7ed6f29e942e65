"""The study of Kin: questions and answers against slow ones, and every cell measured once."""

from types import SimpleNamespace

import numpy as np
import pytest

from kinfolk.cluster import Kin
from kinfolk.cluster._internal.union_find import connected
from research import kin_study as script


def classes(number, size, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(number), size)
    X = (rng.normal(size=(number, 16))[y] + 0.2 * rng.normal(size=(len(y), 16))).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def share_right(y, p):
    """Stand in for the score: the share of pairs of rows that are together in both or in neither."""
    return 100 * np.mean((y[:, None] == y) == (p[:, None] == p))


@pytest.fixture(scope="module")
def fitted():
    X, y = classes(12, 8)
    X = X + 0.12 * np.random.default_rng(1).normal(size=X.shape).astype(np.float32)
    return Kin().fit(X), X, y


@pytest.fixture
def albums(tmp_path):
    (tmp_path / "tiny.npz").touch()
    return SimpleNamespace(
        DATA=tmp_path,
        regimes=lambda X, y, seed: [("plain", X, y), ("zipf", *classes(9, 5, seed))],
        test_part=lambda file: classes(8, 8),
        score=share_right,
    )


def test_a_row_is_right_where_it_is_of_the_largest_class_of_its_cluster():
    rng = np.random.default_rng(0)
    clusters, y = np.unique(rng.integers(0, 9, 200), return_inverse=True)[1], rng.integers(10, 40, 200)
    right = script.of_main_class(clusters, y)
    for cluster in range(9):
        inside = clusters == cluster
        counts = np.unique(y[inside], return_counts=True)[1]
        assert right[inside].sum() == counts.max()
        assert len(np.unique(y[inside & right])) == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_smaller_side_of_a_merge_against_a_slow_count(seed):
    left, right = np.random.default_rng(seed).integers(0, 20, (2, 25)).astype(np.int32)
    for merge, found in enumerate(script.smaller_sides(left, right, 20).tolist()):
        before = connected(20, left[:merge], right[:merge])
        sides = [np.count_nonzero(before == before[side[merge]]) for side in (left, right)]
        assert found == (0 if before[left[merge]] == before[right[merge]] else min(sides))


@pytest.mark.parametrize("order", script.ORDERS)
def test_questions_are_about_two_rows_and_answered_once(fitted, order):
    kin, X, y = fitted
    questions = script.ORDERS[order](kin, X, np.random.default_rng(0))
    first = script.answer(questions, y, [], 5)
    again = script.answer(script.ORDERS[order](kin, X, np.random.default_rng(0)), y, first, 20)
    assert len(first) == 5 and 5 < len(again) <= 20 and again[:5] == first
    assert len({frozenset(pair) for *pair, _ in again}) == len(again)
    assert all(one != other and same == (y[one] == y[other]) for one, other, same in again)


def test_a_row_that_is_not_with_its_own_is_asked_about_its_second_choice(fitted):
    kin, X, _ = fitted
    middle = script.middles(kin.labels_, X)
    row = next(
        r for r in kin.probabilities_.argsort(kind="stable") if kin.second_[r] >= 0 and middle[kin.labels_[r]] != r
    )
    for own, asked_next in ((False, row), (True, None)):
        questions = script.least_sure(kin, X, np.random.default_rng(0))
        pair = next(questions)
        while pair != (row, middle[kin.labels_[row]]):
            pair = questions.send(False)
        after = questions.send(own)
        assert (after == (row, middle[kin.second_[row]])) == (asked_next == row)


def test_every_cell_is_measured_once_and_those_of_another_kin_are_dropped(albums, tmp_path, monkeypatch, capsys):
    path = tmp_path / "kin.jsonl"
    monkeypatch.setattr(script, "CORRECTED", (("tiny", "zipf"),))
    monkeypatch.setattr(script, "ANSWERS", (3, 6))
    script.run(albums, script.parse([]), path)
    rows = script.read(path)
    assert [row["kind"] for row in rows] == ["calibration", "calibration", *["corrections"] * 6]
    assert sum(rows[0]["rows"]) == 64 and 0 <= rows[0]["purity"] <= 1
    assert {row["answers"] for row in rows[2:]} == {3, 6} and all(0 <= row["alone"] <= 100 for row in rows[2:])
    script.run(albums, script.parse([]), path)
    assert script.read(path) == rows
    monkeypatch.setattr(script, "fingerprint", lambda: "new")
    script.run(albums, script.parse(["--only", "calibration", "--regimes", "plain"]), path)
    (line,) = script.read(path)
    assert line | dict(code="", commit="") == rows[0] | dict(code="", commit="")
    assert "8 lines of another Kin are dropped" in capsys.readouterr().out
