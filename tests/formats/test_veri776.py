from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load

LISTS = {
    "train": ["0001_c001_00016450_0.jpg", "0003_c020_00016460_0.jpg"],
    "query": ["0002_c002_00030600_0.jpg"],
    "test": ["0002_c003_00030670_1.jpg", "0005_c002_00030670_1.jpg"],
}


@pytest.fixture
def veri(tmp_path: Path) -> Path:
    for number, (name, lines) in enumerate(LISTS.items(), start=1):
        (tmp_path / f"name_{name}.txt").write_text("\n".join(lines) + "\n")
        np.save(tmp_path / f"{name}.npy", np.full((len(lines), 3), number, dtype=np.float32))
    return tmp_path


def test_the_whole_layout(veri: Path) -> None:
    fs = load(veri)
    assert repr(fs) == "FeatureSet(5 x 3, 4 classes, 4 cameras, 1 queries, parts train 2 + test 3)"
    assert fs.labels is not None and fs.cameras is not None and fs.query is not None and fs.names is not None
    assert fs.labels.tolist() == [1, 3, 2, 2, 5]
    assert fs.cameras.tolist() == [1, 20, 2, 3, 2]
    assert fs.query.tolist() == [False, False, True, False, False]
    assert fs.names.tolist() == [line for lines in LISTS.values() for line in lines]


def test_counts_must_agree(veri: Path) -> None:
    np.save(veri / "test.npy", np.ones((3, 3)))
    with pytest.raises(InputError, match=r"name_test.txt names 2 pictures, but .*test.npy has 3 rows"):
        load(veri)


def test_a_line_that_is_not_one_of_veri(veri: Path) -> None:
    (veri / "name_query.txt").write_text("0002_002_00030600_0.jpg\n")
    with pytest.raises(
        InputError, match=r"name_query.txt: line 1: .* is not a line such as '0002_c002_00030600_0.jpg'"
    ):
        load(veri)


def test_bad_vectors_are_named(veri: Path) -> None:
    np.save(veri / "query.npy", np.zeros((1, 3)))
    with pytest.raises(InputError, match="row 2 is a zero vector"):
        load(veri)
