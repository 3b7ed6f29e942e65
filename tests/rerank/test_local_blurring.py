"""Local blurring against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from rerank import dense


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 60), st.integers(1, 70), st.floats(0.02, 1), st.integers(0, 10**6))
def test_distances_are_those_of_the_definition(n_queries, n_gallery, n, temperature, seed):
    query, gallery = dense.generated(n_queries, n_gallery, seed=seed)
    n = min(n, n_gallery)
    r = kf.rerank.local_blurring(query, gallery, n, temperature, top=None)
    np.testing.assert_allclose(dense.whole(r), dense.local_blurring(query, gallery, n, temperature), atol=1e-4)


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(kf.InputError, match="temperature must lie above 0"):
        kf.rerank.local_blurring(np.eye(2), np.eye(2), n=2, temperature=0)
