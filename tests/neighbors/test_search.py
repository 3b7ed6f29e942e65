"""knn_graph against a slow and obvious reference: all similarities in float64, sorted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.neighbors import search as search_module


def reference(X, k, queries=None):
    """Return the k best of all float64 cosines, the lower row number first among equals."""
    unit = X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    asked = unit if queries is None else queries / np.linalg.norm(queries.astype(np.float64), axis=1, keepdims=True)
    cosines = (asked @ unit.T).round(6)
    if queries is None:
        np.fill_diagonal(cosines, -np.inf)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(cosines, order, axis=1)


@given(st.integers(2, 60), st.integers(1, 9), st.integers(0, 10**6), st.data())
@settings(deadline=None, max_examples=60)
def test_exact_equals_the_reference_with_many_duplicates(n, d, seed, data):
    k = data.draw(st.integers(1, n - 1))
    # few different integer vectors: most rows have exact duplicates and many cosines tie
    X = np.random.default_rng(seed).integers(-2, 3, (n, d)).astype(np.float32)
    X[~X.any(axis=1)] = 1
    g = kf.knn_graph(X, k).validate()
    order, cosines = reference(X, k)
    np.testing.assert_allclose(g.similarities, cosines, atol=2e-6)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for row, found in enumerate(g.indices):
        # equal in float64 to six digits may differ in float32's last bit: compare the similarities of the choices
        np.testing.assert_allclose(unit[found] @ unit[row], cosines[row], atol=2e-6)
    assert g.recall == 1.0
    assert g.method == "exact"
    assert order.shape == g.indices.shape


def test_similarities_are_symmetric_to_the_bit_and_do_not_depend_on_chunks(clustered, monkeypatch):
    X = clustered(700, 33)
    whole = kf.knn_graph(X, k=12)
    dense = whole.to_scipy().toarray()
    both = (dense != 0) & (dense.T != 0)
    np.testing.assert_array_equal(dense[both], dense.T[both])
    monkeypatch.setattr(search_module, "CHUNK_ROWS", 41)
    pieces = kf.knn_graph(X, k=12)
    np.testing.assert_array_equal(whole.indices, pieces.indices)
    np.testing.assert_array_equal(whole.similarities, pieces.similarities)


def test_unit_rows_are_neither_checked_nor_normalised_again(clustered, monkeypatch):
    X = kf.features.unit_rows(clustered(60, 5))
    expected = kf.knn_graph(X, 4, queries=X[:7])
    monkeypatch.setattr(kf.features, "check_rows", None)
    monkeypatch.setattr(kf.features, "normalise", None)
    found = kf.knn_graph(kf.features.UnitRows(X), 4, queries=kf.features.UnitRows(X[:7]))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.similarities, expected.similarities, atol=1e-6)


def test_auto_is_exact_while_affordable_and_ivf_beyond(clustered, monkeypatch):
    X = clustered(3000, 8, centers=100)
    assert kf.knn_graph(X, k=5).method == "exact"
    monkeypatch.setattr(search_module, "EXACT_BUDGET", 1.0)
    assert kf.knn_graph(X, k=5, recall=0.9).method == "ivf"


def test_queries_keep_their_own_duplicates(clustered):
    X = clustered(80, 5)
    g = kf.knn_graph(X, k=3, queries=X[10:14])
    assert not g.square
    np.testing.assert_array_equal(g.indices[:, 0], [10, 11, 12, 13])
    order, _ = reference(X, 3, X[10:14])
    np.testing.assert_array_equal(g.indices, order)


def test_takes_tensors_feature_sets_memory_maps_and_integers(tmp_path):
    import torch

    X = np.random.default_rng(0).integers(1, 50, (40, 6))
    expected = kf.knn_graph(X, k=4).indices
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    kinds = [torch.tensor(X), torch.tensor(X, dtype=torch.bfloat16).float(), kf.FeatureSet(X), X.astype(np.float16)]
    for kind in [*kinds, np.load(tmp_path / "x.npy", mmap_mode="r"), X * 1e-30, X * 1e300]:
        np.testing.assert_array_equal(kf.knn_graph(kind, k=4).indices, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.__setitem__((3, 1), np.nan), "row 3 has NaN"),
        (lambda X: X.__setitem__((4, 0), np.inf), "row 4 has an infinite value"),
        (lambda X: X.__setitem__(slice(5, 7), 0), "row 5 is a zero vector \\(and 1 more"),
    ],
)
def test_bad_rows_are_named(change, message):
    X = np.ones((9, 2))
    change(X)
    with pytest.raises(kf.InputError, match=message):
        kf.knn_graph(X, k=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(k=9), "whole number from 1 to 8 for 9 rows, not 9"),
        (dict(k=0), "not 0"),
        (dict(k=2.0), "whole number"),
        (dict(k=True), "whole number"),
        (dict(k=2, method="annoy"), "one of auto, exact, ivf, not"),
        (dict(k=2, recall=1.5), "recall"),
        (dict(k=2, queries=np.ones((2, 3))), "queries have 3 dimensions"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments, message):
    with pytest.raises(kf.InputError, match=message):
        kf.knn_graph(np.eye(9), **arguments)
