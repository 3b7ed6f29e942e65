"""The map that rows learn from what propagation found: its gradient, its strength, and what it is good for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk._core.rows import of_length_one
from kinfolk.enhance import distillation as module
from kinfolk.enhance.distillation import distil, gradient, strength
from kinfolk.enhance.propagation import Propagation
from kinfolk.metrics import mean_average_precision


def quiet(**parameters):
    return kf.GraphEnhancer(show_progress=False, **parameters)


def plain(e):
    """Return a fitted enhancer that distils nothing."""
    e.propagation_ = Propagation(hops=e.propagation_.hops, distilled=False)
    return e


def divergence(x: np.ndarray, q: np.ndarray, W: np.ndarray) -> float:
    """Return the mean KL(q_i || p_i), by loops."""
    U = np.array([row / np.linalg.norm(row) for row in x @ W])
    total = 0.0
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]
        scores = np.array([U[i] @ U[j] / module.SHARPNESS_LEARNED for j in others])
        log_p = scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max()
        total += sum(q[i, j] * (np.log(q[i, j]) - lp) for j, lp in zip(others, log_p, strict=True) if q[i, j] > 0)
    return total / len(x)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_the_gradient_against_differences(b, d, seed):
    rng = np.random.default_rng(seed)
    x, W = rng.standard_normal((b, d)), np.eye(d) + 0.1 * rng.standard_normal((d, d))
    q = module._softmax(of_length_one(rng.standard_normal((b, 3)) + 0.1), module.SHARPNESS_FOUND)
    found, step = gradient(x, q, W), 1e-6
    for place in np.ndindex(d, d):
        change = np.zeros((d, d))
        change[place] = step
        slope = (divergence(x, q, W + change) - divergence(x, q, W - change)) / (2 * step)
        assert found[place] == pytest.approx(slope, abs=1e-4 * max(1, np.abs(found).max()))


@pytest.fixture(scope="module")
def noisy():
    """Return unit rows of classes that differ in four directions and vary most in four others, and their classes."""
    rng = np.random.default_rng(0)
    y = np.arange(60).repeat(12)
    X = 0.2 * rng.standard_normal((720, 16))
    X[:, :4] += rng.standard_normal((60, 4))[y]
    X[:, 4:8] += 0.8 * rng.standard_normal((720, 4))
    return of_length_one(X.astype(np.float32)), y


def test_directions_in_which_kin_differ_shrink(noisy):
    X, y = noisy
    Z = of_length_one(np.eye(60, dtype=np.float32)[y])  # as if the hops had found the classes
    learned = distil(X, Z, kf.knn_graph(X, 40, show_progress=False).indices)
    kept = np.linalg.norm(learned.map, axis=1)
    assert kept[4:8].max() < kept[:4].min()
    assert mean_average_precision(learned.rows, y) > mean_average_precision(X, y) + 0.015


def test_other_rows_follow(noisy):
    X, _ = noisy
    learned = distil(X, X, kf.knn_graph(X, 40, show_progress=False).indices)
    np.testing.assert_allclose(learned.of(X), learned.rows, atol=1e-6)


def test_the_same_bits_for_any_number_of_threads(noisy, monkeypatch):
    X, _ = noisy
    near = kf.knn_graph(X, 40, show_progress=False).indices
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(distil(X, X, near).rows)
    np.testing.assert_array_equal(*found)
    assert not np.array_equal(found[0], distil(X, X, near, seed=1).rows)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 10**6), st.integers(1, 4096))
def test_the_strength_rises_with_the_rows_to_a_half(n, d):
    assert 0 <= strength(n, d) <= strength(n + 1, d) <= 0.5
    assert (strength(n, d) == 0) == (n < module.FEWEST * d)


@pytest.mark.parametrize("k", [1, 3])
def test_few_neighbours_and_zero_maps_do_no_harm(k):
    X = of_length_one(np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32))
    near = np.argsort(-(X @ X.T), axis=1)[:, 1 : k + 1]
    Z = np.zeros((30, 2), dtype=np.float32)
    rows = distil(X, Z, near).rows
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_generated_faces_gain_or_do_not_change():
    for n_identities in (12, 60):
        fs = kf.datasets.celeb_like(n_identities, dim=64, seed=3)
        e = quiet().fit(fs)
        with_map, without = e.transform(fs), plain(e).transform(fs)
        gain = mean_average_precision(with_map, fs.labels) - mean_average_precision(without, fs.labels)
        assert gain > -0.005


def test_new_rows_are_mapped_as_the_reference():
    fs = kf.datasets.celeb_like(40, dim=32, seed=1)
    new = np.random.default_rng(0).permutation(len(fs))[:300]
    old, y = np.delete(fs.features, new, axis=0), fs.labels[new]
    e = quiet().fit(old)
    together, without = (f(e).transform(fs.features[new], reference=old) for f in (lambda e: e, plain))
    assert not np.allclose(together, without, atol=1e-3)
    assert mean_average_precision(together, y) > mean_average_precision(without, y) - 0.005


@pytest.mark.parametrize(
    "parameters", [dict(pretrained=False), dict(attention="self"), dict(attention="none")], ids=str
)
def test_forms_that_are_compared_with_peers_distil_nothing(parameters):
    assert not quiet(**parameters).fit(np.eye(8) + 0.1).propagation_.distilled


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"), [("market1501", 0.01), ("omniglot", 0.002), ("clinc150", 0.003), ("banking77", -0.002)]
)
def test_real_sets_gain_or_hardly_change(shared_data, name, least):
    fs = kf.load(shared_data / f"{name}.npz").part("train")
    X, y = fs.features, fs.labels
    e = quiet().fit(X)
    with_map, without = e.transform(X), plain(e).transform(X)
    assert mean_average_precision(with_map, y) > mean_average_precision(without, y) + least


def test_a_row_is_mapped_to_the_same_bits_alone_and_among_others(noisy):
    X, _ = noisy
    learned = distil(X, X, kf.knn_graph(X, 40, show_progress=False).indices)
    np.testing.assert_array_equal(np.concatenate([learned.of(X[i : i + 1]) for i in range(300)]), learned.rows[:300])


def test_a_row_of_the_reference_is_enhanced_alone_as_in_a_batch():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 16)).repeat(20, axis=0) + 0.3 * rng.normal(size=(600, 16))).astype(np.float32)
    e = quiet().fit(X)
    batch = e.transform(X[:30], reference=X)
    alone = np.concatenate([e.transform(X[i : i + 1], reference=X) for i in range(30)])
    np.testing.assert_allclose(alone, batch, atol=2e-6)
