"""The ranking by cosine alone."""

import numpy as np
import pytest

import kinfolk as kf
from rerank import dense


def test_distances_are_one_minus_the_cosine():
    query, gallery = dense.generated(7, 50)
    r = kf.rerank.cosine(query, gallery, top=None)
    np.testing.assert_allclose(dense.whole(r), 1 - dense.unit(query) @ dense.unit(gallery).T, atol=1e-5)


def test_of_equal_distances_the_lower_gallery_row_comes_first():
    r = kf.rerank.cosine([[1.0, 0.0]], np.eye(2)[[1, 0, 1, 0, 0]], top=None)
    assert r.indices.tolist() == [[1, 3, 4, 0, 2]]


@pytest.mark.slow
def test_market1501_gives_the_figures_measured_by_other_programs(market):
    np.testing.assert_allclose(dense.reid_scores(kf.rerank.cosine(*market, top=None), *market), (64.4, 85.2), atol=0.1)
