"""Sim-M against triple loops over sets."""

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


@given(st.integers(3, 30), st.integers(0, 10**6), st.booleans(), st.sampled_from(["union", "mutual"]))
@settings(deadline=None, max_examples=40)
def test_sim_m_of_any_pairs_and_of_the_symmetric_graph(n, seed, with_self, rule):
    rng = np.random.default_rng(seed)
    g = kf.knn_graph(rng.standard_normal((n, 3)), int(rng.integers(1, n)))
    candidates = "neighbors+self" if with_self else "neighbors"
    pairs = rng.integers(0, n, (50, 2))
    known = [dict(zip(g.indices[i].tolist(), np.maximum(g.similarities[i], 0).tolist(), strict=True)) for i in range(n)]
    if with_self:
        known = [{i: 1.0} | tests for i, tests in enumerate(known)]
    expected = [
        sum(known[i][c] * known[j][c] for c in known[i].keys() & known[j]) / (g.k + with_self) for i, j in pairs
    ]
    np.testing.assert_allclose(kf.sim_m(g, candidates=candidates, pairs=pairs), expected, atol=1e-5)
    symmetric = g.symmetric(rule)
    scores = kf.sim_m(symmetric, candidates=candidates).toarray()
    np.testing.assert_allclose(scores, scores.T, atol=1e-6)
    dense = np.maximum(symmetric.toarray(), 0) + (np.eye(n) if with_self else 0)
    degree = np.diff(symmetric.indptr)
    both = dense @ dense.T / np.maximum(np.maximum(degree[:, None], degree) + with_self, 1)
    rows, columns = symmetric.nonzero()
    np.testing.assert_allclose(scores[rows, columns], both[rows, columns], atol=1e-5)


def test_own_pairs_asked_for_one_by_one_give_the_same_scores():
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((40, 4)), 6)
    pairs = np.stack([np.repeat(np.arange(40), 6), g.indices.ravel()], axis=1)
    np.testing.assert_array_equal(kf.sim_m(g, pairs=pairs), kf.sim_m(g).ravel())
    for bad in ([[0, 40]], [[-1, 0]], [0, 1], [[0.5, 1.0]]):
        with pytest.raises(kf.InputError, match="pairs"):
            kf.sim_m(g, pairs=bad)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_any_number_of_threads_and_any_layout_of_the_graph_give_the_same_scores(monkeypatch, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    g = kf.knn_graph(np.random.default_rng(0).standard_normal((60, 4)), 9)
    expected = naive_sim_m(g, lambda s: max(float(s), 0.0), True, False)
    frozen = g.indices.copy()
    frozen.flags.writeable = False
    for indices in (frozen, np.asfortranarray(g.indices), g.indices.astype(np.int64)):
        found = kf.sim_m(kf.NeighborGraph(indices, g.similarities, len(g)))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(tests="binary"), "binary tests need a threshold"),
        (dict(tests="hard"), "tests must be one of soft, binary, not 'hard'"),
        (dict(normalize="n"), "normalize must be one of k, common, not 'n'"),
        (dict(candidates="all"), "candidates must be one of neighbors, neighbors.self, not 'all'"),
    ],
)
def test_unknown_choices_are_refused(arguments, sentence):
    with pytest.raises(kf.InputError, match=sentence):
        kf.sim_m(kf.knn_graph(np.eye(4), 2), **arguments)


def test_what_is_no_graph_over_all_rows_is_refused():
    with pytest.raises(kf.InputError, match="a neighbour graph is expected, not ndarray"):
        kf.sim_m(np.eye(3))
    with pytest.raises(kf.InputError, match="over all rows, not queries"):
        kf.sim_m(kf.knn_graph(np.eye(4), 2, queries=np.eye(4)[:1]))


@pytest.mark.slow
def test_sim_m_finds_wrong_edges_better_than_one_test_on_real_features(shared_data):
    """The paper's first claim, on person features at a k where the theorem's condition holds."""
    test = kf.load(shared_data / "market1501.npz").part("test")
    g = kf.knn_graph(test, k=10)
    gain = kf.metrics.pair_auc(g, kf.sim_m(g), test.labels) - kf.metrics.pair_auc(g, kf.sim_s(g), test.labels)
    assert gain > 0.005
