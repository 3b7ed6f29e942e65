"""Pair scores against scikit-learn and against counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import kinfolk as kf


def labelled_graph(n, k, seed):
    rng = np.random.default_rng(seed)
    return kf.knn_graph(rng.standard_normal((n, 3)), k), rng.integers(-1, 3, n)


def same_class(g, y):
    return np.array([[y[i] == y[j] and y[i] >= 0 for j in g.indices[i]] for i in range(len(g))])


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


def test_wrong_shapes_and_nan_are_refused():
    g, y = labelled_graph(10, 2, 0)
    with pytest.raises(kf.InputError, match="one label a row"):
        kf.metrics.edge_noise_rate(g, y[:-1])
    with pytest.raises(kf.InputError, match="aligned"):
        kf.metrics.pair_auc(g, np.ones((10, 3)), y)
    with pytest.raises(kf.InputError, match="NaN"):
        kf.metrics.pair_auc(g, np.full((10, 2), np.nan), y)
