"""What the tests of re-rankers share."""

import pytest

import kinfolk as kf


@pytest.fixture(scope="session")
def market(shared_data):
    """Queries and gallery of the test part of market1501."""
    fs = kf.load(shared_data / "market1501.npz").part("test")
    return fs.take(fs.query), fs.take(~fs.query)
