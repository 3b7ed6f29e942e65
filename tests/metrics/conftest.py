"""Sets that the tests of scores share."""

import numpy as np
import pytest

import kinfolk as kf


@pytest.fixture(scope="session")
def persons():
    """Return queries, a gallery, and the order of the gallery by cosine for each query."""
    fs = kf.datasets.person_like(30, seed=1, dim=16).part("test")
    query, gallery = fs.take(fs.query), fs.take(~fs.query)
    return query, gallery, np.argsort(-(query.features @ gallery.features.T), axis=1, kind="stable")
