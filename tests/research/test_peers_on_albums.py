"""Peers are measured once for each set, regime, draw and method, here on tiny sets in place of ../shared."""

import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from research.fc_es import LEAST_EVIDENCE, TEMPERATURE, fc_es, kept_evidence

import kinfolk as kf
from research import peers_on_albums as script


def classes(number, size, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(number), size)
    X = (rng.normal(size=(number, 16))[y] + 0.2 * rng.normal(size=(len(y), 16))).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def share_right(y, p):
    """Stand in for the score: the share of pairs of rows that are together in both or in neither."""
    return 100 * np.mean((y[:, None] == y) == (np.asarray(p)[:, None] == p))


@pytest.fixture
def albums(tmp_path):
    (tmp_path / "tiny.npz").touch()

    def regimes(X, y, seed):
        yield "plain", X, y
        yield "zipf", *classes(6, 5, seed)

    def easy():
        yield "4 x 9", *classes(4, 9)

    test_part = lambda file: classes(5, 8)  # noqa: E731
    return SimpleNamespace(DATA=tmp_path, regimes=regimes, easy=easy, test_part=test_part, score=share_right)


def measured(albums, path, *arguments):
    script.run(albums, script.parse(list(arguments), script.METHODS, None), path)
    return script.read(path)


def test_every_cell_has_one_line_and_a_second_run_adds_none(albums, tmp_path):
    path = tmp_path / "lines.jsonl"
    arguments = ("--methods", "HAC", "all alone", "--draws", "2")
    rows = measured(albums, path, *arguments)
    places = [("easy", "4 x 9", 0), ("tiny", "plain", 0), ("tiny", "zipf", 0), ("tiny", "zipf", 1)]
    assert {script.key(row) for row in rows} == {(*p, m) for p, m in itertools.product(places, ("HAC", "all alone"))}
    assert measured(albums, path, *arguments) == rows
    fields = "set regime draw method oracle setting score nmi ari clusters seconds version"
    assert all(list(row) == fields.split() for row in rows)
    alone = next(row for row in rows if row["method"] == "all alone" and row["regime"] == "4 x 9")
    assert alone["clusters"] == 36 and alone["score"] == pytest.approx(100 * (1 - 4 * 9 * 8 / 36**2), abs=1e-3)


def test_a_line_that_was_cut_off_is_measured_again(albums, tmp_path):
    path = tmp_path / "lines.jsonl"
    arguments = ("--methods", "all alone", "--sets", "easy")
    whole = measured(albums, path, *arguments)
    path.write_text(json.dumps(whole[0])[:20])
    assert script.key(measured(albums, path, *arguments)[0]) == script.key(whole[0])


def test_sets_and_regimes_can_be_chosen(albums, tmp_path):
    rows = measured(
        albums, tmp_path / "a.jsonl", "--methods", "all alone", "--sets", "tiny", "--regimes", "zipf", "--draws", "3"
    )
    assert [(row["regime"], row["draw"]) for row in rows] == [("zipf", 0), ("zipf", 1), ("zipf", 2)]


def test_a_method_that_fails_is_a_line_without_scores(albums, tmp_path, monkeypatch):
    def fails(X, y, score):
        if len(X) == 36:
            raise ValueError("too easy")
        return np.zeros(len(X), dtype=int), "default"

    monkeypatch.setitem(script.METHODS, "HAC", script.Method(fails, 1))
    (row,) = measured(albums, tmp_path / "a.jsonl", "--methods", "HAC", "--sets", "easy")
    assert row["score"] is None and row["setting"] == "failed: ValueError('too easy')"


def test_further_draws_of_a_slow_cell_are_left_out(albums, tmp_path, monkeypatch):
    monkeypatch.setitem(script.METHODS, "all alone", script.Method(script.all_alone, 1, 10, limit=-1.0))
    monkeypatch.setattr(script, "too_slow", lambda rows, cell, name, limit: len(rows) > 0)
    assert len(measured(albums, tmp_path / "a.jsonl", "--methods", "all alone", "--sets", "tiny")) == 1


def test_slow_is_what_took_longer_on_another_draw():
    cell = script.Cell("tiny", "zipf", 1, np.zeros((1, 1), np.float32), np.zeros(1, int))
    row = dict(set="tiny", regime="zipf", draw=0, method="HAC", seconds=61.0)
    assert script.too_slow([row], cell, "HAC", 60) and not script.too_slow([row], cell, "Kin", 60)
    assert not script.too_slow([row], cell, "HAC", 62)


@pytest.mark.parametrize("name", [n for n, m in script.METHODS.items() if m.oracle])
def test_an_oracle_is_at_least_as_good_as_everyone_alone(name):
    X, y = classes(6, 12)
    labels, setting = script.METHODS[name].run(X, y, share_right)
    assert "=" in setting and share_right(y, labels) > share_right(y, np.arange(len(y)))


def test_the_oracle_of_hac_is_not_below_its_default():
    X, y = classes(9, 7, seed=3)
    assert share_right(y, script.hac_oracle(X, y, share_right)[0]) >= share_right(y, kf.cluster.HAC().fit_predict(X))


def test_the_important_come_first_and_kin_is_asked_for():
    groups = script.stages(None, 10, script.METHODS)
    assert groups[0] == (["all alone", "HAC", "ChineseWhispers", "Infomap", "HDBSCAN"], 10)
    assert not any("Kin" in names for names, _ in groups)
    assert script.stages(["Kin"], 4, script.METHODS) == [(["Kin"], 4)]


@pytest.mark.parametrize(
    "wrong, message", [(["--methods", "Kinn"], "invalid choice: 'Kinn'"), (["--again"], "name the --methods")]
)
def test_what_cannot_be_measured_is_refused(wrong, message, capsys):
    with pytest.raises(SystemExit):
        script.parse(wrong, script.METHODS, None)
    assert message in capsys.readouterr().err


def test_again_removes_only_the_lines_that_are_asked_for(albums, tmp_path):
    path = tmp_path / "a.jsonl"
    rows = measured(albums, path, "--methods", "all alone", "HAC", "--sets", "easy", "tiny", "--draws", "1")
    path.write_text("".join(json.dumps(row | dict(version="old")) + "\n" for row in rows))
    again = measured(albums, path, "--methods", "HAC", "--sets", "tiny", "--draws", "1", "--again")
    assert {script.key(row) for row in again} == {script.key(row) for row in rows}
    assert all((row["version"] == "old") != (row["method"] == "HAC" and row["set"] == "tiny") for row in again)


def test_all_intents_of_a_text_set_have_an_accuracy(albums, tmp_path, monkeypatch):
    X, y = classes(4, 6)
    np.savez(tmp_path / "tiny.npz", features=X, labels=y)
    monkeypatch.setattr(script, "TEXTS", ("tiny",))
    (row,) = measured(albums, tmp_path / "a.jsonl", "--methods", "all alone", "--sets", "tiny", "--regimes", "all")
    assert row["regime"] == "all" and row["accuracy"] == pytest.approx(100 * 4 / 24, abs=1e-3)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_accuracy_against_all_matchings(pairs):
    y, labels = np.array(pairs).T
    orders = itertools.permutations(range(4))  # the cluster of each class
    hits = max(np.sum(np.array(order)[y] == labels) for order in orders)
    assert script.accuracy(y, labels) == pytest.approx(hits / len(y))


def test_without_the_shared_folder_one_sentence_says_so(tmp_path):
    with pytest.raises(SystemExit, match=r"albums\.py is missing"):
        script.load_albums(tmp_path / "albums.py")


def test_evidence_against_a_loop_over_sets():
    X, _ = classes(4, 6)
    g = kf.knn_graph(X, 7, show_progress=False)
    indices = np.hstack([np.arange(len(X), dtype=np.int32)[:, None], g.indices]).astype(np.int32)
    P = np.exp((2 * np.hstack([np.ones((len(X), 1)), g.similarities]).astype(np.float64) - 2) / TEMPERATURE)
    P /= P.sum(axis=1, keepdims=True)
    maps = [dict(zip(i.tolist(), p.tolist(), strict=True)) for i, p in zip(indices, P, strict=True)]
    expected = np.zeros(P.shape)
    for i, row in enumerate(indices.tolist()):
        for a, j in enumerate(row[1:], start=1):
            evidence = sum(maps[i][m] + maps[j][m] for m in maps[i].keys() & maps[j].keys()) / 2
            if evidence < LEAST_EVIDENCE:
                break
            expected[i, a] = evidence
    np.testing.assert_allclose(kept_evidence(indices, P, LEAST_EVIDENCE), expected, atol=1e-12)
    assert 0 < np.count_nonzero(expected) < g.indices.size


def test_fc_es_finds_separate_classes():
    X, y = classes(5, 10)
    assert share_right(y, fc_es(X, k=10)) > 99
