"""The kinship of an edge, and the k that the counts of kin point at."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import kinfolk as kf
from kinfolk.nn import kinship
from kinfolk.nn.kinship import GRID, Kinship, grid_of, kin_blocks, kin_counts, kin_scale
from kinfolk.similarity.scales import scale_tests


def clouds(classes: int, size: int, seed: int = 0, dim: int = 24) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((classes, dim)).repeat(size, axis=0)
    return (centres + 0.5 * rng.standard_normal(centres.shape)).astype(np.float32)


@pytest.fixture(scope="module")
def net() -> Kinship:
    return Kinship.shipped()


def slow_log_odds(net: Kinship, tests: np.ndarray) -> float:
    state = {name: values.double().numpy() for name, values in net.state_dict().items()}
    x = np.clip((tests - state["mean"]) / state["spread"], -4, 4)
    for layer in ("layers.0", "layers.2"):
        x = np.maximum(0, state[f"{layer}.weight"] @ x + state[f"{layer}.bias"])
    return float((state["layers.4.weight"] @ x + state["layers.4.bias"])[0])


def test_the_network_is_three_layers_over_clamped_tests(net):
    tests = (5 * np.random.default_rng(0).standard_normal((40, 13))).astype(np.float32)
    with torch.inference_mode():
        found = net(torch.from_numpy(tests))
    np.testing.assert_allclose(found, [slow_log_odds(net, row.astype(float)) for row in tests], rtol=1e-4, atol=1e-4)


def test_the_shipped_network_tells_kin_from_strangers(net):
    fs = kf.datasets.celeb_like(12, dim=64)
    g = kf.knn_graph(fs, k=80)
    (rows, log_p, _), *more = kin_blocks(net, g, 40)
    assert not more
    np.testing.assert_array_equal(rows, np.arange(len(fs)))
    assert (log_p <= 0).all()
    same = fs.labels[g.indices] == fs.labels[:, None]
    assert np.exp(log_p)[same].mean() > 0.2 + np.exp(log_p)[~same].mean()


@pytest.mark.parametrize("edges", [1, 100, 16 * 7 + 3])
def test_blocks_do_not_change_the_result(monkeypatch, net, edges):
    X = clouds(5, 12)
    g = kf.knn_graph(X, k=20)
    queries = kf.knn_graph(X, k=20, queries=clouds(2, 9, seed=1))
    for asking, rows in ((None, None), (None, np.array([7, 3, 59, 3])), (queries, None)):
        monkeypatch.setattr(kinship, "BLOCK_EDGES", 1 << 18)
        ((asked, log_p, reciprocal),) = kin_blocks(net, g, 8, rows, asking)
        monkeypatch.setattr(kinship, "BLOCK_EDGES", edges)
        blocks = list(kin_blocks(net, g, 8, rows, asking))
        assert len(blocks) == -(-len(asked) // max(1, edges // 16))
        np.testing.assert_array_equal(np.concatenate([b[0] for b in blocks]), asked)
        np.testing.assert_allclose(np.concatenate([b[1] for b in blocks]), log_p, atol=1e-5)
        np.testing.assert_array_equal(np.concatenate([b[2] for b in blocks]), reciprocal)


def test_kin_are_counted_in_units_of_k(net):
    g = kf.knn_graph(clouds(6, 15), k=30)
    for k, found in zip((3, 8, 15), kin_counts(net, g, [3, 8, 15]), strict=True):
        tests = scale_tests(g, k).values.reshape(-1, 13)
        odds = np.array([slow_log_odds(net, row.astype(float)) for row in tests])
        assert found == pytest.approx((1 / (1 + np.exp(-odds))).sum() / (len(g) * k), rel=1e-4)
        assert 0 <= found <= 2


def test_a_sample_of_the_rows_is_enough_to_count(monkeypatch, net):
    g = kf.knn_graph(clouds(30, 20), k=40)
    everybody = kin_counts(net, g, [10, 20])
    monkeypatch.setattr(kinship, "SAMPLE_ROWS", 200)
    np.testing.assert_allclose(kin_counts(net, g, [10, 20]), everybody, rtol=0.1)
    np.testing.assert_array_equal(kin_counts(net, g, [10], seed=3), kin_counts(net, g, [10], seed=3))
    assert kin_counts(net, g, [10], seed=3) != kin_counts(net, g, [10], seed=4)


@pytest.mark.parametrize("size", [8, 20, 60])
@pytest.mark.parametrize("seed", [0, 1])
def test_k_follows_the_size_of_the_classes(net, size, seed):
    X = clouds(max(10, 400 // size), size, seed)
    k = kin_scale(net, kf.knn_graph(X, k=2 * grid_of(len(X))[-1]))
    assert size / 2 <= k <= 2 * size


def test_sets_that_are_too_small_for_the_grid_have_a_k_all_the_same(net):
    for n in range(2, 14):
        g = kf.knn_graph(clouds(1, n), k=n - 1)
        assert 1 <= kin_scale(net, g) <= g.k
    g = kf.knn_graph(clouds(5, 40), k=1)
    assert kin_scale(net, g) == 1


def test_the_grid_leaves_half_of_the_rows_outside():
    assert grid_of(12) == [3]
    assert grid_of(10**6) == list(GRID)
    for n in range(2, 200):
        assert all(4 * k <= n for k in grid_of(n)) or grid_of(n) == [max(1, min(3, (n - 1) // 2))]


def crossing(ks: list[int], counts: list[float]) -> int:
    return kinship._crossing(ks, np.array(counts))


def test_k_is_where_the_count_of_kin_falls_through_the_line():
    assert crossing([8, 12, 24], [0.5, 0.4, 0.3]) == 9  # never full: where 0.93 of the most are left
    assert crossing([8, 12, 24], [0.8, 0.76, 0.79]) == 24  # never full and never fewer: the largest
    assert crossing([8, 12, 24], [1.5, 1.4, 1.3]) == 24  # always full: the largest
    assert crossing([6, 24], [1.18, 0.78]) == 12  # half-way between the two, on a scale of factors
    assert crossing([6, 24], [0.98, 0.1]) == 6
    assert (
        crossing([8, 12, 17, 24], [1.4, 0.97, 1.0, 0.5]) == 17
    )  # the last crossing, a dip of three hundredths is no valley


def test_k_stays_below_the_valley_between_a_class_and_its_family():
    ks = [6, 8, 12, 17, 24, 34]
    valley = [1.4, 1.5, 1.2, 1.1, 1.3, 1.5]
    assert kinship._valley(ks, np.array(valley)) == 3
    assert crossing(ks, valley) == 17
    # the bottom itself is no longer full: the line is crossed on the way down, whatever comes after
    assert crossing(ks, [1.4, 1.38, 0.58, 0.5, 1.3, 1.5]) == round(8 * 1.5**0.5)
    assert kinship._valley(ks, np.array([1.4, 1.5, 1.2, 1.1, 1.2, 1.2])) == 5  # rises too little
    assert kinship._valley(ks, np.array([1.2, 1.5, 1.49, 1.49, 1.7, 1.9])) == 5  # fell too little
    assert kinship._valley(ks, np.array([1.2, 1.42, 1.41, 1.38, 1.41, 1.8])) == 3  # vehicle_like, seed 2
    assert kinship._valley(ks, np.array([1.2, 1.41, 1.41, 1.38, 1.42, 1.8])) == 3  # back at the peak on the way up
    assert kinship._valley(ks, np.array([1.1, 1.1, 0.95, 0.95, 1.2, 1.6])) == 5  # no peak that the counts rose to
    assert kinship._valley([3, 4, 6, 8], np.array([1.5, 0.2, 1.5, 1.6])) == 3  # two neighbours are noise
    assert kinship._valley([8], np.array([0.3])) == 0
