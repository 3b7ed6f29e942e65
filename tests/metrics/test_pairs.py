"""Pair scores against scikit-learn and against counting."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import kinfolk as kf
from kinfolk.metrics import pairs


def labelled_graph(n, k, seed):
    rng = np.random.default_rng(seed)
    return kf.knn_graph(rng.standard_normal((n, 3)), k), rng.integers(-1, 3, n)


def same_class(g, y):
    return np.array([[y[i] == y[j] and y[i] >= 0 for j in g.indices[i]] for i in range(len(g.indices))])


def slow_tpr(scores, same, limit):
    """Try every threshold, and one above all scores."""
    kept = [t for t in [*scores.ravel(), np.inf] if (scores[~same] >= t).mean() <= limit]
    return max((scores[same] >= t).mean() for t in kept)


@given(st.integers(3, 40), st.integers(1, 2), st.integers(0, 10**6), st.sampled_from([0, 1, 7]))
@settings(deadline=None, max_examples=60)
def test_auc_enr_and_roc(n, k, seed, decimals):
    g, y = labelled_graph(n, k, seed)
    same = same_class(g, y)
    assert kf.metrics.edge_noise_rate(g, y) == pytest.approx(1 - same.mean())
    np.testing.assert_allclose(kf.metrics.edge_noise_rate(g, y, per_node=True), 1 - same.mean(axis=1))
    scores = np.random.default_rng(seed).random(same.shape).astype(np.float32).round(decimals)  # rounding makes ties
    if same.all() or not same.any():
        with pytest.raises(kf.InputError, match="needs both kinds"):
            kf.metrics.pair_auc(g, scores, y)
        return
    auc = roc_auc_score(same.ravel(), scores.ravel())
    assert kf.metrics.pair_auc(g, scores, y) == pytest.approx(auc, abs=1e-9)
    curve = kf.metrics.roc(g, scores, y, points=2000)
    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(auc, abs=1e-6)
    for fpr, tpr, threshold in zip(*curve, strict=True):
        assert tpr == pytest.approx((scores[same] >= threshold).mean())
        assert fpr == pytest.approx((scores[~same] >= threshold).mean())
    asked = [0, 0.05, 0.1, 1 / 3, 0.5, 0.9, 1, (scores[~same] >= 0.5).mean()]
    best = [slow_tpr(scores, same, fpr) for fpr in asked]
    assert kf.metrics.tpr_at_fpr(g, scores, y, asked).tolist() == pytest.approx(best)


def test_wrong_shapes_and_nan_are_refused():
    g, y = labelled_graph(10, 2, 0)
    with pytest.raises(kf.InputError, match="one label a row"):
        kf.metrics.edge_noise_rate(g, y[:-1])
    with pytest.raises(kf.InputError, match="aligned"):
        kf.metrics.pair_auc(g, np.ones((10, 3)), y)
    with pytest.raises(kf.InputError, match="NaN"):
        kf.metrics.pair_auc(g, np.full((10, 2), np.nan), y)
    for fprs in ([-0.1], [1.5], [np.nan]):
        with pytest.raises(kf.InputError, match="between 0 and 1"):
            kf.metrics.tpr_at_fpr(g, np.ones((10, 2)), y, fprs)


def test_a_rate_that_is_a_whole_number_of_pairs_is_met_exactly():
    """0.29 * 100 is a little less than 29 in floating point; 29 wrong pairs of 100 are allowed all the same."""
    g = SimpleNamespace(indices=np.array([[1], [2], [1]]).repeat(100, axis=1))
    scores = np.add.outer([0, 0.5, 0.5], np.arange(100))
    for wrong in range(100):
        # the best `wrong` strangers are let in, and with them all kin above the next one
        assert kf.metrics.tpr_at_fpr(g, scores, [0, 1, 1], wrong / 100) == (wrong + 1) / 100
    assert kf.metrics.tpr_at_fpr(g, scores, [0, 1, 1], [1.0, 0.295]).tolist() == [1.0, 0.3]


def test_blocks_and_words_do_not_matter(monkeypatch):
    g, y = labelled_graph(60, 4, 1)
    whole = kf.metrics.pair_auc(g, g.similarities, y), kf.metrics.edge_noise_rate(g, y)
    words = np.array(["", "a", "b", "c"])[y + 1]
    monkeypatch.setattr(pairs, "BLOCK_PAIRS", 50)
    assert (kf.metrics.pair_auc(g, g.similarities, words), kf.metrics.edge_noise_rate(g, words)) == whole
