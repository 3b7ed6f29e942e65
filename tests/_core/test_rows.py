"""Rows in blocks, and of length one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinfolk._core.errors import InputError
from kinfolk._core.rows import blocks, check_rows, normalise, of_length_one


@given(rows=st.integers(1, 50), dim=st.integers(1, 9), size=st.integers(1, 200))
def test_blocks_cover_every_row_once(rows: int, dim: int, size: int) -> None:
    matrix = np.arange(rows * dim).reshape(rows, dim)
    parts = list(blocks(matrix, size))
    np.testing.assert_array_equal(np.concatenate([block for _, block in parts]), matrix)
    assert [start for start, _ in parts] == np.cumsum([0, *(len(block) for _, block in parts[:-1])]).tolist()


def test_rows_too_short_for_a_direction_are_replaced() -> None:
    X = np.array([[3, 4], [1e-7, 0], [0, 0]], dtype=np.float32)
    instead = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    np.testing.assert_allclose(of_length_one(X, instead), [[0.6, 0.8], [1, 0], [0, 1]], rtol=1e-6)
    assert np.isfinite(of_length_one(X)).all()


@pytest.mark.parametrize(
    ("value", "says"), [(np.nan, "row 11 has NaN"), (np.inf, "row 11 has an infinite value"), (0.0, "row 11 is a zero")]
)
def test_a_bad_row_is_named_by_its_number_in_the_whole(value, says):
    block = np.ones((3, 2))
    block[1] = value
    with pytest.raises(InputError, match=says):
        check_rows(block, first_row=10)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_rows_of_any_length_become_of_length_one(scale):
    block, unit = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32), np.empty((5, 4), dtype=np.float32)
    normalise(block * np.float32(scale), unit)
    np.testing.assert_allclose(unit, block / np.linalg.norm(block, axis=1, keepdims=True), rtol=1e-5)
