"""The compiled network beside its definition."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.kinship import KinshipNetwork, edge_tests


@pytest.mark.parametrize("edges", [0, 1, 63, 64, 65, 200])
def test_it_is_three_layers_over_clamped_tests(net, slow_log_probability, edges):
    tests = (5 * np.random.default_rng(edges).standard_normal((edges, 13))).astype(np.float32)
    found = net.log_probability(tests)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [slow_log_probability(row) for row in tests], rtol=1e-4, atol=1e-4)


def test_extreme_tests_give_finite_numbers(net):
    tests = np.array([[1e30] * 13, [-1e30] * 13, [0.0] * 13], dtype=np.float32)
    assert np.isfinite(net.log_probability(tests)).all()


def test_the_shape_is_kept_and_views_are_read_right(net):
    tests = np.random.default_rng(0).standard_normal((7, 9, 13)).astype(np.float32)
    whole = net.log_probability(tests)
    assert whole.shape == (7, 9)
    np.testing.assert_array_equal(net.log_probability(tests[:, 2:5]), whole[:, 2:5])


def test_it_tells_kin_from_strangers(net):
    fs = kf.datasets.celeb_like(12, dim=64)
    g = kf.knn_graph(fs, k=80)
    log_p = net.log_probability(edge_tests(g, 40).values)
    assert (log_p <= 0).all()
    same = fs.labels[g.indices] == fs.labels[:, None]
    assert np.exp(log_p)[same].mean() > 0.2 + np.exp(log_p)[~same].mean()


def test_weights_of_another_shape_are_refused(net):
    with pytest.raises(ValueError, match=r"layers.0.bias has the shape \(3,\), \(32,\) is expected"):
        KinshipNetwork(net.tensors | {"layers.0.bias": np.zeros(3, dtype=np.float32)})
    with pytest.raises(KeyError, match="mean"):
        KinshipNetwork({})
