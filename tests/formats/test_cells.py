from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats._cells import set_of_cells
from kinfolk.formats._columns import choose_columns


def read(**cells: list[Any]) -> FeatureSet:
    titles = ["f0", *cells]
    columns = choose_columns(titles, ["number"] * len(titles))
    return set_of_cells(columns, np.ones((3, 1)), {name: cells[titles[place]] for name, place in columns.known.items()})


@pytest.mark.parametrize(
    ("cells", "labels", "words"),
    [
        ([3, 4, 3], [3, 4, 3], ()),
        ([3.0, None, float("nan")], [3, -1, -1], ()),
        ([True, False, True], [1, 0, 1], ()),
        (["b", None, "a"], [1, -1, 0], ("a", "b")),
        (["7", "", "8"], [7, -1, 8], ()),
    ],
)
def test_labels(cells: list[Any], labels: list[int], words: tuple[str, ...]) -> None:
    fs = read(label=cells)
    assert fs.labels is not None
    assert (fs.labels.tolist(), fs.label_names) == (labels, words)


def test_names_parts_queries() -> None:
    fs = read(id=[7.0, None, 8.5], split=["a", 1, "a"], query=[1, 0, True], enhanced=[True] * 3)
    assert fs.names is not None and fs.part_index is not None and fs.query is not None
    assert fs.names.tolist() == ["7", "", "8.5"]
    assert (fs.part_index.tolist(), fs.part_names) == ([0, 1, 0], ("a", "1"))
    assert fs.query.tolist() == [True, False, True]
    assert fs.enhanced


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (dict(camera=[1, None, 2]), "the cameras of row 1 are empty"),
        (dict(split=["a", "b", float("nan")]), "the part of row 2 are empty"),
        (dict(query=[0, 1, 2]), "query must be bool"),
        (dict(label=[0.5, 1, 2]), "labels must be int64"),
    ],
)
def test_cells_that_cannot_be_used(cells: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(**cells)
