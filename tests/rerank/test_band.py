"""Band: enhanced features, then any ranking."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.features import UnitRows
from kinfolk.rerank import METHODS
from kinfolk.rerank._pool import Pool
from kinfolk.rerank._settings import neighbors_and_k


@pytest.fixture(scope="module")
def enhanced():
    """Rows of persons, a label-free enhancer fitted to them, and their enhanced features."""
    fs = kf.datasets.person_like(n_identities=30).part("test")
    enhancer = kf.GraphEnhancer()
    return fs, enhancer, enhancer.fit_transform(fs)


@pytest.mark.parametrize("then", METHODS)
def test_band_ranks_enhanced_features_with_any_method(enhanced, then):
    fs, enhancer, Z = enhanced
    r = kf.rerank.band(fs.take(slice(0, 60)), fs.take(slice(60, None)), then, top=None)
    # the k that fits the classes is that of the features as given
    settings = {} if then == "cosine" else dict(class_k=enhancer.k_)
    expected = METHODS[then](UnitRows(Z[:60]), UnitRows(Z[60:]), top=None, **settings)
    np.testing.assert_allclose(np.sort(r.distances), np.sort(expected.distances), atol=1e-4)
    assert (r.indices[:, 0] == expected.indices[:, 0]).mean() > 0.95
    assert r.settings["enhancer_k"] == enhancer.k_


def test_a_fitted_enhancer_is_used_and_k_chosen_on_the_features_as_given(enhanced):
    fs, enhancer, Z = enhanced
    query, gallery = fs.take(slice(0, 60)), fs.take(slice(60, None))
    r = kf.rerank.band(query, gallery, "qe", enhancer=enhancer, top=None)
    k = neighbors_and_k(Pool(query, gallery))[1]
    expected = kf.rerank.query_expansion(Z[:60], Z[60:], top=None, class_k=k)
    np.testing.assert_allclose(np.sort(r.distances), np.sort(expected.distances), atol=1e-4)
    assert kf.rerank.band(query, gallery, "qe", enhancer=enhancer, class_k=8).settings["k"] == 2


def test_an_unknown_ranking_is_refused():
    with pytest.raises(kf.InputError, match="the ranking must be one of cosine, qe, lbr, kr, ecn, not 'other'"):
        kf.rerank.band(np.eye(3), np.eye(3), "other")
