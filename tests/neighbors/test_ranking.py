"""Candidates ranked in a fixed order."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.neighbors import _ranking
from kinfolk.neighbors._ranking import rank_candidates


def reference(queries, targets, candidates, k, own_rows):
    """Sort the candidates of each query by falling cosine, then by row number."""
    found = []
    for query, proposed, own in zip(queries, candidates, own_rows, strict=True):
        kept = [c for c in proposed if c >= 0 and c != own]
        found.append(sorted(kept, key=lambda c: (-float(query @ targets[c]), c))[:k])
    return np.array(found)


# inner products that floats hold exactly in whatever order they are added up
EXACT_ROWS = np.concatenate([np.eye(4), -np.eye(4), np.full((1, 4), 0.5)]).astype(np.float32)


@pytest.mark.parametrize("at_once", [3, 1024])
def test_candidates_are_sorted_by_cosine_then_row(monkeypatch, at_once):
    monkeypatch.setattr(_ranking, "ROWS_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    targets = EXACT_ROWS[rng.integers(len(EXACT_ROWS), size=40)]
    candidates = np.stack([rng.permutation(40)[:12] for _ in range(10)])
    own_rows = np.where(np.arange(10) % 2, candidates[:, 3], -1)
    indices, similarities = rank_candidates(targets[:10], targets, candidates, 5, own_rows, exact=False)
    np.testing.assert_array_equal(indices, reference(targets[:10], targets, candidates, 5, own_rows))
    np.testing.assert_array_equal(similarities, np.einsum("qd,qkd->qk", targets[:10], targets[indices]))


@pytest.mark.parametrize("rows", [5, 100])  # 100: with threads
def test_too_few_candidates_are_replaced_by_a_comparison_with_all(rows):
    targets = EXACT_ROWS[np.random.default_rng(1).integers(len(EXACT_ROWS), size=rows)]
    candidates, own_rows = np.full((rows, 4), -1), np.arange(rows)
    candidates[:, 0] = 0
    indices, _ = rank_candidates(targets, targets, candidates, 3, own_rows, exact=False)
    everything = np.tile(np.arange(rows), (rows, 1))
    np.testing.assert_array_equal(indices, reference(targets, targets, everything, 3, own_rows))


def test_equal_vectors_are_neighbours_in_row_order_and_self_is_left_out():
    X = np.tile(np.array([[0.3, 0.7, -0.2]], dtype=np.float32), (300, 1))
    g = kf.knn_graph(X, k=120)
    for row in (0, 57, 150, 299):
        expected = np.delete(np.arange(300), row)[:120]
        np.testing.assert_array_equal(g.indices[row], expected)
