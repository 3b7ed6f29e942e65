"""What a graph shows at each k, beside a slow computation of the same."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.kinship.edge_probabilities import probability_blocks
from kinfolk.kinship.kin_counts import kin_counts
from kinfolk.kinship.scale_views import AROUND, INPUTS, KIN, STEPS, _change, _extremes, _limited, views_of_scales


@pytest.fixture(scope="module")
def graph():
    rows = np.random.default_rng(0).standard_normal((20, 16)).repeat(8, axis=0)
    return kf.knn_graph(rows + 0.7 * np.random.default_rng(1).standard_normal(rows.shape), k=60)


def test_means_over_rows_are_those_of_a_slow_loop(net, graph):
    ks = [2, 3, 4, 6, 8, 12]
    views = views_of_scales(net, graph, ks)
    assert views.shape == (len(ks), INPUTS)
    np.testing.assert_allclose(views[:, KIN], kin_counts(net, graph, ks), atol=1e-4)
    (block,) = probability_blocks(net, graph, ks)
    for a, smaller in ((5, 1), (4, 0), (0, 0)):  # 12 with 3, 8 with 2, 2 with itself
        p, q = np.exp(block.log_p[a]), np.exp(block.log_p[smaller])
        purity, kept, joined = [], [], []
        for i in range(len(graph)):
            purity.append(sum(p[i] ** 2) / sum(p[i]))
            pairs = list(zip(p[i], q[i], strict=False))
            kept.append(sum(x * y for x, y in pairs) / sum(y for _, y in pairs))
            joined.append(sum(x * (1 - y) for x, y in pairs) / (sum(1 - y for _, y in pairs) + 1e-9))
        np.testing.assert_allclose(views[a, [1, 3, 4]], [np.mean(v) for v in (purity, kept, joined)], atol=1e-4)
        np.testing.assert_allclose(views[a, 2], block.reciprocal[a][:, : ks[a]].mean(), atol=1e-6)


def test_changes_and_extremes_stop_at_the_ends():
    values = np.array([1.0, 3.0, 2.0])
    assert _change(values, 2).tolist() == [1.0, -1.0, 0.0]
    assert _change(values, -1).tolist() == [0.0, -2.0, 1.0]
    before_most, before_least, behind_most, behind_least = _extremes(values, 1)
    assert before_most.tolist() == [0.0, 0.0, 1.0]
    assert before_least.tolist() == [0.0, -2.0, 0.0]
    assert behind_most.tolist() == [2.0, 0.0, 0.0]
    assert behind_least.tolist() == [0.0, -1.0, 0.0]


def test_large_sets_with_large_classes_look_like_small_ones():
    small, large = _limited([12, 17], 12 * 40), _limited([96, 136], 96 * 40)
    np.testing.assert_allclose(small, large)
    assert max(STEPS) < AROUND


def test_one_scale_and_two_rows(net):
    assert np.isfinite(views_of_scales(net, kf.knn_graph(np.eye(2) + 0.1, k=1), [1])).all()
