"""Arrays by name: which are the features, what the others are."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats._named_arrays import Stored, set_of_arrays


def made(**arrays):
    known = {name: np.asarray(array) for name, array in arrays.items()}
    stored = {name: Stored(array.shape, array.dtype.kind in "biuf") for name, array in known.items()}
    return set_of_arrays(stored, known.__getitem__)


def test_only_what_is_recognised_is_read():
    stored = {"features": Stored((2, 2), True), "weights": Stored((7,), True), "notes": Stored((3,), False)}
    fs = set_of_arrays(stored, lambda name: {"features": np.eye(2)}[name])
    assert fs.labels is None and fs.dim == 2


def test_parts_by_number_and_by_name():
    by_number = made(features=np.eye(2), part=[1, 0], part_names=["a", "b"])
    by_name = made(features=np.eye(2), split=["b", "a"])
    assert by_number.part_names == ("a", "b")
    assert [len(fs.part("a")) for fs in (by_number, by_name)] == [1, 1]
    assert by_number.part("b").features.tolist() == by_name.part("b").features.tolist() == [[1, 0]]


def test_a_huge_matrix_is_refused_before_it_is_read():
    with pytest.raises(InputError, match="features would take"):
        set_of_arrays({"features": Stored((1 << 40, 1 << 40), True)}, lambda name: np.eye(2))


def test_without_a_matrix():
    with pytest.raises(InputError, match=r"the arrays are: y \(2,\)"):
        made(y=[1, 2])


def test_the_mark_of_the_whole_set():
    assert made(embeddings=np.eye(2), enhanced=True).enhanced
    assert not made(embeddings=np.eye(2), enhanced=[False]).enhanced
