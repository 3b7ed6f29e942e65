"""k-reciprocal re-ranking against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinfolk as kf
from rerank import dense


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 60), st.integers(1, 30), st.integers(1, 9), st.booleans(), st.integers(0, 10**6)
)
def test_distances_are_those_of_the_definition(n_queries, n_gallery, k1, k2, helper, seed):
    query, gallery = dense.generated(n_queries, n_gallery, seed=seed)
    k1, k2 = min(k1, n_queries + n_gallery), min(k2, n_queries + n_gallery)
    r = kf.rerank.k_reciprocal(query, gallery, k1, k2, 0.3, top=None, form="helper" if helper else "paper")
    expected = dense.k_reciprocal(query, gallery, k1, k2, 0.3, helper)
    np.testing.assert_allclose(dense.whole(r), expected, atol=1e-5)


def test_the_two_forms_differ():
    query, gallery = dense.generated(10, 100)
    paper, helper = (
        dense.whole(kf.rerank.k_reciprocal(query, gallery, 10, 3, 0.3, top=None, form=f)) for f in ("paper", "helper")
    )
    assert np.abs(paper - helper).max() > 1e-2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(lambda_value=1.5), "lambda_value must lie between 0 and 1"),
        (dict(form="other"), "form must be one of paper, helper, not 'other'"),
    ],
)
def test_a_wrong_argument_gets_one_sentence(arguments, sentence):
    query, gallery = dense.generated(3, 20)
    with pytest.raises(kf.InputError, match=sentence):
        kf.rerank.k_reciprocal(query, gallery, **arguments)


@pytest.mark.slow
def test_market1501_gives_the_figures_measured_by_other_programs(market):
    r = kf.rerank.k_reciprocal(*market, top=None, preset="paper", form="helper")
    np.testing.assert_allclose(dense.reid_scores(r, *market), (81.3, 88.0), atol=0.1)
