"""The ranking by cosine."""

import sys

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.metrics import cosine_ranking


def test_equal_similarities_come_in_the_order_of_the_gallery():
    (order,) = cosine_ranking(np.array([[1.0, 0]]), np.array([[0, 1.0], [2, 0], [0, 3], [1, 0]]))
    assert order.tolist() == [[1, 3, 0, 2]]


def test_blocks_follow_one_another(persons, monkeypatch):
    query, gallery, order = persons
    np.testing.assert_array_equal(np.concatenate(list(cosine_ranking(query, gallery))), order)
    monkeypatch.setattr(sys.modules[cosine_ranking.__module__], "SORTED_AT_ONCE", 5 * len(gallery))
    blocks = list(cosine_ranking(query, gallery))
    assert {len(block) for block in blocks[:-1]} == {5}
    np.testing.assert_array_equal(np.concatenate(blocks), order)


def test_other_dimensions_are_refused():
    with pytest.raises(kf.InputError, match="queries have 2 dimensions, the gallery has 3"):
        next(cosine_ranking(np.eye(2), np.eye(3)))
