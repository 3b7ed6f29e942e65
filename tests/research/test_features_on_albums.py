"""Peers for features: re-rankers against kf.rerank query by query, propagation against whole matrices."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from research.peers_on_albums import load_albums

import kinfolk as kf
from research import features_on_albums as script


def classes(number, size, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(number), size)
    X = (rng.normal(size=(number, 16))[y] + noise * rng.normal(size=(len(y), 16))).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("number, size", [(6, 15), (3, 4), (1, 2)])
@pytest.mark.parametrize(
    "make, rerank, settings",
    [
        (script.k_reciprocal, kf.rerank.k_reciprocal, dict(k1=20, k2=6)),
        (script.expanded_cross_neighborhood, kf.rerank.expanded_cross_neighborhood, dict(k=25, t=3, q=8)),
    ],
)
def test_a_row_against_all_others_is_ranked_as_by_the_program(make, rerank, settings, number, size):
    X, _ = classes(number, size, noise=0.8)
    settings = {name: min(value, len(X) - (name in "tq")) for name, value in settings.items()}
    found = make(X)(np.arange(len(X)))
    for row in range(0, len(X), 7):
        others = np.delete(np.arange(len(X)), row)
        ranking = rerank(X[row : row + 1], X[others], **settings, top=None, show_progress=False)
        np.testing.assert_allclose(
            np.minimum(found[row, others[ranking.indices[0]]], 1), np.minimum(ranking.distances[0], 1), atol=2e-5
        )
        # where no list is shared the cosine decides: beyond 1, in the program's order
        assert (np.diff(found[row, others[ranking.indices[0]]]) > -2e-5).all()


def nearest(X, k):
    """Return whether j is one of the k nearest of i, itself among them, from the whole matrix."""
    S = X @ X.T
    return S, np.sort(S, axis=1)[:, -min(k, len(X))][:, None] <= S


def test_gcr_against_whole_matrices():
    X, _ = classes(5, 9, noise=0.6)
    Z = X.astype(np.float64)
    for _ in range(3):
        cosine, near = nearest(Z, 15)
        S = np.where(near, np.exp(cosine / 0.2), 0)
        Z = np.diag(S.sum(axis=1) ** -0.5) @ S @ np.diag(S.sum(axis=0) ** -0.5) @ Z
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    np.testing.assert_allclose(script.gcr(X), Z, atol=1e-5)


def test_expansion_against_a_loop():
    X, _ = classes(4, 8, noise=0.6)
    S, near = nearest(X, 11)
    expected = [
        x + sum(max(S[i, j], 0) ** 3 * X[j] for j in np.flatnonzero(near[i]) if j != i) for i, x in enumerate(X)
    ]
    np.testing.assert_allclose(
        script.expansion(X), np.array(expected) / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5
    )


def test_mean_ap_is_that_of_the_independent_program():
    quality = load_albums(script.QUALITY) if script.QUALITY.is_file() else pytest.skip("shared/checks is not here")
    X, y = classes(30, 7, noise=1.0)
    y[0] = 99  # a query without a match is left out
    ours = script.mean_ap(lambda rows: -(X[rows] @ X.T), y)
    assert ours == pytest.approx(quality.mean_ap(X, y), abs=1e-6) and 10 < ours < 99


def test_every_method_makes_a_line_that_can_be_measured_again(tmp_path, monkeypatch):
    (tmp_path / "tiny.npz").touch()
    X, y = classes(8, 9, noise=0.6)
    albums = SimpleNamespace(DATA=tmp_path, test_part=lambda file: (X, y), score=None)
    albums.regimes = lambda X, y, draw: [("plain", X, y), ("zipf", X[draw:], y[draw:])]
    quality = SimpleNamespace(mean_ap=lambda Z, y, queries: script.mean_ap(lambda rows: -(Z[rows] @ Z.T), y))
    monkeypatch.setattr(script, "load_albums", lambda path=None: quality if path else albums)
    monkeypatch.setattr(script, "FILE", tmp_path / "lines.jsonl")

    def lines(*arguments):
        monkeypatch.setattr(sys, "argv", ["features_on_albums", *arguments])
        script.main()
        return [json.loads(line) for line in script.FILE.read_text().splitlines()]

    rows = lines("--draws", "2")
    assert {row["method"] for row in rows} == set(script.METHODS) and len(rows) == 3 * len(script.METHODS)
    assert not [row["setting"] for row in rows if row["score"] is None]
    raw, expanded = (next(r["score"] for r in rows if r["method"] == name) for name in ("raw", "expansion, both sides"))
    assert raw < expanded <= 100
    again = lines("--draws", "2", "--methods", "GCR", "--again")
    assert len(again) == len(rows) and {row["method"] for row in again[-3:]} == {"GCR"}
