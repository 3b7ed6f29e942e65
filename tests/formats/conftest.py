"""Feature sets to write and read, and how to compare them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from kinfolk.features import ROW_FIELDS, FeatureSet

Same = Callable[[FeatureSet, FeatureSet], None]
names = st.text(max_size=12).map(lambda text: text.rstrip("\0"))  # numpy drops the zeros at the end of a text


@st.composite
def feature_sets(draw: st.DrawFn) -> FeatureSet:
    rows, dim = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    scale = 10.0 ** draw(st.integers(-30, 30))
    label_names = tuple(draw(st.lists(names.filter(bool), unique=True, min_size=1, max_size=4)) if draw(st.booleans()) else ())
    part_names = ("train", "test") if draw(st.booleans()) else ()
    top = len(label_names) or 10**9
    return FeatureSet(
        rng.standard_normal((rows, dim)) * scale,
        labels=rng.integers(-1, top, rows) if label_names or draw(st.booleans()) else None,
        cameras=rng.integers(-(2**40), 2**40, rows) if draw(st.booleans()) else None,
        names=draw(st.lists(names, min_size=rows, max_size=rows).map(lambda n: np.array(n, dtype=np.str_)))
        if draw(st.booleans())
        else None,
        query=rng.random(rows) < 0.5 if draw(st.booleans()) else None,
        part_index=rng.integers(0, 2, rows) if part_names else None,
        part_names=part_names,
        label_names=label_names,
    )


@pytest.fixture
def small() -> FeatureSet:
    """Six rows with every column."""
    return FeatureSet(
        np.random.default_rng(0).standard_normal((6, 4)),
        labels=[2, 0, 1, 1, 2, 0],
        cameras=[1, 2, 3, 1, 2, 3],
        names=np.array(["a", "ü,\t\"b\"", "", "名前", "line\nbreak", "f"]),
        query=[False, False, True, False, True, False],
        part_index=[0, 0, 1, 1, 1, 1],
        part_names=("train", "test"),
    )


def assert_same(one: FeatureSet, two: FeatureSet, *fields: str) -> None:
    """Compare what the rows say; fields default to all."""
    np.testing.assert_array_equal(one.features, two.features)
    for field in fields or ROW_FIELDS:
        np.testing.assert_array_equal(words(one, field), words(two, field), err_msg=field)


def words(fs: FeatureSet, field: str) -> np.ndarray | None:
    """Give labels and parts by name where there are names: a text format may number them anew."""
    column, texts = getattr(fs, field), {"labels": fs.label_names, "part_index": fs.part_names}.get(field, ())
    if column is None or not texts:
        return column
    return np.array([texts[number] if number >= 0 else "" for number in column.tolist()])


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
