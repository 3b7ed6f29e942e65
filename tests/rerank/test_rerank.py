"""Each re-ranker against its slow definition, on any shape, and on real features."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kinfolk as kf
from kinfolk.rerank import METHODS
from kinfolk.rerank import _pool as pool_module
from kinfolk.rerank._pool import Pool

dense = runpy.run_path(str(Path(__file__).with_name("dense.py")))
FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def classes(n_queries, n_gallery, n_classes=8, dim=6, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_classes, dim))
    n = n_queries + n_gallery
    X = centres[rng.integers(n_classes, size=n)] + noise * rng.standard_normal((n, dim))
    return X[:n_queries], X[n_queries:]


def whole(ranking):
    """The distances in the order of the gallery."""
    D = np.empty(ranking.distances.shape)
    np.put_along_axis(D, ranking.indices.astype(int), ranking.distances, axis=1)
    return D


@FEW
@given(
    st.integers(1, 12), st.integers(1, 60), st.integers(1, 30), st.integers(1, 9), st.booleans(), st.integers(0, 10**6)
)
def test_k_reciprocal_is_the_definition(n_queries, n_gallery, k1, k2, helper, seed):
    query, gallery = classes(n_queries, n_gallery, seed=seed)
    r = kf.rerank.k_reciprocal(query, gallery, k1, k2, 0.3, top=None, form="helper" if helper else "paper")
    np.testing.assert_allclose(whole(r), dense["k_reciprocal"](query, gallery, k1, k2, 0.3, helper), atol=1e-5)


def test_the_two_forms_of_k_reciprocal_differ():
    query, gallery = classes(10, 100)
    paper, helper = (
        whole(kf.rerank.k_reciprocal(query, gallery, 10, 3, 0.3, top=None, form=f)) for f in ("paper", "helper")
    )
    assert np.abs(paper - helper).max() > 1e-2


@FEW
@given(
    st.integers(1, 12),
    st.integers(1, 60),
    st.integers(1, 30),
    st.integers(1, 6),
    st.integers(1, 9),
    st.sampled_from(["rank", "cosine"]),
    st.integers(0, 10**6),
)
def test_expanded_cross_neighborhood_is_the_definition(n_queries, n_gallery, k, t, q, variant, seed):
    query, gallery = classes(n_queries, n_gallery, seed=seed)
    r = kf.rerank.expanded_cross_neighborhood(query, gallery, k, t, q, top=None, variant=variant)
    expected = dense["expanded_cross_neighborhood"](query, gallery, k, t, q, variant)
    np.testing.assert_allclose(whole(r), expected, atol=1e-5)


def test_strangers_to_every_list_follow_in_the_order_of_their_cosine():
    query, gallery = classes(5, 200, n_classes=20, noise=0.1)
    r = kf.rerank.expanded_cross_neighborhood(query, gallery, 5, 2, 2, top=None)
    similarities = np.take_along_axis(dense["unit"](query) @ dense["unit"](gallery).T, r.indices, axis=1)
    for row, s in zip(r.distances, similarities, strict=True):
        assert (row == 1).sum() > 100
        assert (np.diff(s[row == 1]) < 1e-6).all()


@FEW
@given(st.integers(1, 12), st.integers(1, 60), st.integers(1, 70), st.sampled_from([0, 1, 3]), st.integers(0, 10**6))
def test_query_expansion_is_the_definition(n_queries, n_gallery, k, alpha, seed):
    query, gallery = classes(n_queries, n_gallery, seed=seed)
    r = kf.rerank.query_expansion(query, gallery, k, alpha, top=None)
    np.testing.assert_allclose(whole(r), dense["query_expansion"](query, gallery, k, alpha), atol=1e-5)


@FEW
@given(st.integers(1, 12), st.integers(1, 60), st.integers(1, 70), st.floats(0.02, 1), st.integers(0, 10**6))
def test_local_blurring_is_the_definition(n_queries, n_gallery, n, temperature, seed):
    query, gallery = classes(n_queries, n_gallery, seed=seed)
    r = kf.rerank.local_blurring(query, gallery, n, temperature, top=None)
    np.testing.assert_allclose(whole(r), dense["local_blurring"](query, gallery, n, temperature), atol=1e-4)


@FEW
@given(
    st.sampled_from([*METHODS, "ecn-cosine"]),
    st.integers(1, 5),
    st.integers(1, 40),
    st.integers(1, 5),
    st.one_of(st.none(), st.integers(1, 50)),
    st.sampled_from([None, "paper"]),
)
def test_equal_rows_and_ties_give_a_ranking_in_order(method, n_queries, n_gallery, n_kinds, top, preset):
    X = np.eye(n_kinds, 5)[np.arange(n_queries + n_gallery) % n_kinds] + 0.1
    options = {} if method == "cosine" else dict(preset=preset)
    if method == "ecn-cosine":
        options["variant"] = "cosine"
    r = METHODS[method.partition("-")[0]](X[:n_queries], X[n_queries:], top=top, **options)
    width = n_gallery if top is None else min(top, n_gallery)
    assert r.indices.shape == r.distances.shape == (n_queries, width)
    assert np.isfinite(r.distances).all()
    assert (np.diff(r.distances, axis=1) >= 0).all()
    for row, distances in zip(r.indices, r.distances, strict=True):
        assert len(set(row.tolist())) == width
        assert ((row >= 0) & (row < n_gallery)).all()
        tied = np.flatnonzero(np.diff(distances) == 0)
        if method == "cosine":
            assert (row[tied] < row[tied + 1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_the_top_is_the_beginning_of_the_whole(method):
    query, gallery = classes(20, 700, n_classes=40)
    everything, few = (METHODS[method](query, gallery, top=top) for top in (None, 30))
    np.testing.assert_array_equal(everything.indices[:, :30], few.indices)
    np.testing.assert_array_equal(everything.distances[:, :30], few.distances)


@FEW
@given(st.integers(1, 30), st.integers(1, 60), st.integers(1, 100), st.integers(0, 10**6))
def test_pairs_compared_once_give_the_lists_of_a_full_search(n_queries, n_gallery, k, seed):
    query, gallery = classes(n_queries, n_gallery, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "STRIP_ROWS", 7)
        patch.setattr(pool_module, "TASK_COLUMNS", 11)
        patch.setattr(pool_module, "TASK_ROWS", 3)
        pool = Pool(query, gallery)
        found = pool.neighbors(k)
    S = dense["cosines"](query, gallery)
    k = min(k, len(S) - 1)
    np.testing.assert_array_equal(found.indices, dense["rank_lists"](S)[:, 1 : k + 1])
    np.testing.assert_allclose(found.similarities, np.take_along_axis(S, found.indices, axis=1), atol=1e-5)
    np.testing.assert_allclose(found.lowest, S.min(axis=1), atol=1e-5)
    np.testing.assert_allclose(pool.similarities(0, n_queries), S[:n_queries, n_queries:], atol=1e-5)


def test_products_that_are_not_kept_give_the_same_ranking(monkeypatch):
    query, gallery = classes(20, 300)
    kept = kf.rerank.k_reciprocal(query, gallery, 10, 3)
    monkeypatch.setattr(pool_module, "KEPT_BYTES", 0)
    again = kf.rerank.k_reciprocal(query, gallery, 10, 3)
    np.testing.assert_allclose(whole_top(again), whole_top(kept), atol=1e-5)


def whole_top(ranking):
    return np.sort(ranking.distances, axis=1)


def test_given_settings_win_over_the_preset_and_the_data():
    query, gallery = classes(5, 100)
    r = kf.rerank.k_reciprocal(query, gallery, k1=7, preset="paper")
    assert r.settings == dict(k1=7, k2=6, lambda_value=0.3)
    r = kf.rerank.k_reciprocal(query, gallery, k2=2, scale=10)
    assert r.settings == dict(k1=14, k2=2, lambda_value=0.3)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(top=0), "top must be a whole number from 1 on"),
        (dict(k1=0), "k1 must be a whole number from 1 on, not 0"),
        (dict(k1=2.5), "k1 must be a whole number from 1 on, not 2.5"),
        (dict(lambda_value=1.5), "lambda_value must lie between 0 and 1"),
        (dict(form="other"), "form must be 'paper' or 'helper'"),
        (dict(preset="book"), "preset must be 'paper' or None"),
    ],
)
def test_what_is_wrong_is_said(arguments, sentence):
    query, gallery = classes(3, 20)
    with pytest.raises(kf.InputError, match=sentence):
        kf.rerank.k_reciprocal(query, gallery, **arguments)


def test_dimensions_that_differ_are_refused():
    for method in (*METHODS.values(), kf.rerank.band):
        with pytest.raises(kf.InputError, match="the queries have 2 dimensions, the gallery 3"):
            method(np.ones((1, 2)), np.ones((1, 3)))


def test_band_ranks_enhanced_features_with_any_method():
    fs = kf.datasets.person_like(n_identities=30).part("test")
    query, gallery = fs.take(slice(0, 60)), fs.take(slice(60, None))
    enhancer = kf.GraphEnhancer()
    Z = enhancer.fit_transform(fs)
    for then in METHODS:
        r = kf.rerank.band(query, gallery, then, top=None)
        # the size of the classes is read from the rows as given
        settings = {} if then == "cosine" else dict(scale=enhancer.k_)
        expected = METHODS[then](Z[:60], Z[60:], top=None, **settings)
        np.testing.assert_array_equal(r.indices, expected.indices)
    with pytest.raises(kf.InputError, match="the ranking must be one of"):
        kf.rerank.band(query, gallery, "other")


def reid_scores(ranking, query, gallery):
    """mAP^R and R1, gallery items of the query's identity and camera left out, queries without a match too."""
    precisions, first = [], []
    for order, label, camera in zip(ranking.indices, query.labels, query.cameras, strict=True):
        same = gallery.labels[order] == label
        hits = np.flatnonzero(same[~(same & (gallery.cameras[order] == camera))])
        if len(hits):
            precisions.append(np.mean(np.arange(1, len(hits) + 1) / (hits + 1)))
            first.append(hits[0] == 0)
    return 100 * np.mean(precisions), 100 * np.mean(first)


@pytest.mark.parametrize(
    ("method", "options", "expected"),
    [
        ("cosine", {}, (64.4, 85.2)),
        ("qe", dict(preset="paper"), (69.4, 83.6)),
        ("kr", dict(preset="paper", form="helper"), (81.3, 88.0)),
        ("ecn", dict(preset="paper"), (79.4, 85.8)),
    ],
)
def test_market1501_gives_the_figures_measured_by_other_programs(shared_data, method, options, expected):
    fs = kf.load(shared_data / "market1501.npz").part("test")
    query, gallery = fs.take(fs.query), fs.take(~fs.query)
    scores = reid_scores(METHODS[method](query, gallery, top=None, **options), query, gallery)
    np.testing.assert_allclose(scores, expected, atol=0.1)
