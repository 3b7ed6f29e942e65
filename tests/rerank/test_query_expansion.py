"""Query expansion against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from rerank import dense


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 60), st.integers(1, 70), st.sampled_from([0, 1, 3]), st.integers(0, 10**6))
def test_distances_are_those_of_the_definition(n_queries, n_gallery, k, alpha, seed):
    query, gallery = dense.generated(n_queries, n_gallery, seed=seed)
    k = min(k, n_gallery)
    r = kf.rerank.query_expansion(query, gallery, k, alpha, top=None)
    np.testing.assert_allclose(dense.whole(r), dense.query_expansion(query, gallery, k, alpha), atol=1e-5)


@pytest.mark.slow
def test_market1501_gives_the_figures_measured_by_other_programs(market):
    r = kf.rerank.query_expansion(*market, top=None, preset="paper")
    np.testing.assert_allclose(dense.reid_scores(r, *market), (69.4, 83.6), atol=0.1)
