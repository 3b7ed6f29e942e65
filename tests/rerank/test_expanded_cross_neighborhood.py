"""Expanded cross neighbourhoods against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from rerank import dense


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 60),
    st.integers(1, 30),
    st.integers(1, 6),
    st.integers(1, 9),
    st.sampled_from(["rank", "cosine"]),
    st.integers(0, 10**6),
)
def test_distances_are_those_of_the_definition(n_queries, n_gallery, k, t, q, variant, seed):
    query, gallery = dense.generated(n_queries, n_gallery, seed=seed)
    others = n_queries + n_gallery - 1
    k, t, q = min(k, others + 1), min(t, others), min(q, others)
    r = kf.rerank.expanded_cross_neighborhood(query, gallery, k, t, q, top=None, variant=variant)
    expected = dense.expanded_cross_neighborhood(query, gallery, k, t, q, variant)
    np.testing.assert_allclose(dense.whole(r), expected, atol=1e-5)


def test_rows_that_share_no_list_with_the_query_follow_in_the_order_of_their_cosine():
    query, gallery = dense.generated(5, 200, n_classes=20, noise=0.1)
    r = kf.rerank.expanded_cross_neighborhood(query, gallery, 5, 2, 2, top=None)
    similarities = np.take_along_axis(dense.unit(query) @ dense.unit(gallery).T, r.indices, axis=1)
    for row, s in zip(r.distances, similarities, strict=True):
        assert (row == 1).sum() > 100
        assert (np.diff(s[row == 1]) < 1e-6).all()


def test_an_unknown_variant_is_refused():
    with pytest.raises(kf.InputError, match="variant must be one of rank, cosine, not 'other'"):
        kf.rerank.expanded_cross_neighborhood(np.eye(2), np.eye(2), variant="other")


@pytest.mark.slow
def test_market1501_gives_the_figures_measured_by_other_programs(market):
    r = kf.rerank.expanded_cross_neighborhood(*market, top=None, preset="paper")
    np.testing.assert_allclose(dense.reid_scores(r, *market), (79.4, 85.8), atol=0.1)
