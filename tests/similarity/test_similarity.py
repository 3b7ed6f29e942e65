"""Sim-S and Sim-M against triple loops over sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf


def naive_sim_m(g, test, with_self, by_common):
    n, k = g.indices.shape
    tests = [{int(j): test(s) for j, s in zip(g.indices[i], g.similarities[i], strict=True)} for i in range(n)]
    if with_self:
        for i in range(n):
            tests[i][i] = 1.0
    result = np.zeros((n, k))
    for i in range(n):
        for a, j in enumerate(g.indices[i]):
            common = tests[i].keys() & tests[j].keys()
            tried = len(common) if by_common else k + with_self
            result[i, a] = sum(tests[i][c] * tests[j][c] for c in common) / tried if tried else 0.0
    return result


@given(
    st.integers(2, 40), st.integers(1, 4), st.integers(0, 10**6), st.booleans(), st.booleans(), st.booleans(), st.data()
)
@settings(deadline=None, max_examples=80)
def test_sim_m_equals_the_triple_loop(n, d, seed, binary, with_self, by_common, data):
    k = data.draw(st.integers(1, n - 1))
    # small integers: duplicates, opposite vectors and neighbourhoods without anything in common
    X = np.random.default_rng(seed).integers(-1, 2, (n, d)).astype(float)
    X[~X.any(axis=1)] = 1
    g = kf.knn_graph(X, k)
    expected = naive_sim_m(g, lambda s: float(s >= 0.5) if binary else max(float(s), 0.0), with_self, by_common)
    found = kf.sim_m(
        g,
        tests="binary" if binary else "soft",
        threshold=0.5 if binary else None,
        candidates="neighbors+self" if with_self else "neighbors",
        normalize="common" if by_common else "k",
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_sim_s_is_the_cosine_or_its_kernel():
    X = np.random.default_rng(0).standard_normal((20, 5))
    g = kf.knn_graph(X, 3)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    squares = ((unit[:, None] - unit[g.indices]) ** 2).sum(-1)
    np.testing.assert_allclose(kf.sim_s(g), 1 - squares / 2, atol=1e-5)
    np.testing.assert_allclose(kf.sim_s(g, "gaussian", width=0.7), np.exp(-squares / (2 * 0.49)), atol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda g: kf.sim_s(g, "linear"),
        lambda g: kf.sim_s(g, "gaussian", width=0),
        lambda g: kf.sim_m(g, tests="binary"),
        lambda g: kf.sim_m(g, tests="hard"),
        lambda g: kf.sim_m(g, normalize="n"),
        lambda g: kf.sim_m(g, candidates="all"),
    ],
)
def test_unknown_choices_are_refused(call):
    with pytest.raises(kf.InputError):
        call(kf.knn_graph(np.eye(4), 2))


def test_sim_m_finds_wrong_edges_better_than_one_test_on_real_features(shared_data):
    """The paper's first claim, on person features at a k where the theorem's condition holds."""
    test = kf.load(shared_data / "market1501.npz").part("test")
    g = kf.knn_graph(test, k=10)
    gain = kf.metrics.pair_auc(g, kf.sim_m(g), test.labels) - kf.metrics.pair_auc(g, kf.sim_s(g), test.labels)
    assert gain > 0.005
