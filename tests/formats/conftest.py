"""A feature set to write and read, and how to compare two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kinfolk.features import ROW_FIELDS, FeatureSet


@pytest.fixture
def small() -> FeatureSet:
    """Six rows with every column, and texts that need care."""
    return FeatureSet(
        np.random.default_rng(0).standard_normal((6, 4)),
        labels=[2, 0, 1, 1, 2, 0],
        cameras=[1, 2, 3, 1, 2, 3],
        names=np.array(["a", 'ü,\t"b"', "", "名前", "line\nbreak", "f"]),
        query=[False, False, True, False, True, False],
        part_index=[0, 0, 1, 1, 1, 1],
        part_names=("train", "test"),
    )


@pytest.fixture(scope="session")
def same() -> Callable[..., None]:
    """Compare two sets row by row; labels and parts by name, because text formats number them anew."""

    def words(fs: FeatureSet, field: str) -> list[str] | None:
        column, names = getattr(fs, field), {"labels": fs.label_names, "part_index": fs.part_names}.get(field)
        if column is None:
            return None
        return [names[value] if names and value >= 0 else str(value) for value in column.tolist()]

    def compare(one: FeatureSet, two: FeatureSet, fields: tuple[str, ...] = ROW_FIELDS) -> None:
        np.testing.assert_array_equal(one.features, two.features)
        for field in fields:
            assert words(one, field) == words(two, field), field
        assert one.enhanced == two.enhanced

    return compare
