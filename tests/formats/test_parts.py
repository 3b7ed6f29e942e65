from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load

STEMS = ("part0_train", "part1_test", "part3_test")


@pytest.fixture
def celeb(tmp_path: Path) -> Path:
    for folder in ("features", "labels", "knns"):
        (tmp_path / folder).mkdir()
    for rows, stem in enumerate(STEMS, start=2):
        np.full((rows, 8), rows, dtype=np.float32).tofile(tmp_path / "features" / f"{stem}.bin")
        (tmp_path / "labels" / f"{stem}.meta").write_text("".join(f"{row}\n" for row in range(rows)))
    return tmp_path


@pytest.mark.parametrize(
    ("part", "rows"), [("part0_train", 2), ("part0", 2), ("0", 2), ("train", 2), ("1", 3), ("part3_test", 4)]
)
def test_a_part_by_any_of_its_names(part: str, rows: int, celeb: Path) -> None:
    fs = load(celeb, dim=8, part=part)
    assert len(fs) == rows
    assert fs.labels is not None
    assert fs.labels.tolist() == list(range(rows))
    assert isinstance(fs.features, np.memmap)


def test_an_unknown_or_ambiguous_part_lists_those_there(celeb: Path) -> None:
    have = "part0_train, part1_test, part3_test"
    with pytest.raises(InputError, match=f"there are several parts, choose one with part=: {have}"):
        load(celeb)
    with pytest.raises(InputError, match=f"unknown part '9'; the parts there are {have}"):
        load(celeb, part="9")
    with pytest.raises(InputError, match=f"several parts match 'test', choose one with part=: {have}"):
        load(celeb, part="test")


def test_a_single_part_needs_no_choice(celeb: Path) -> None:
    for stem in STEMS[1:]:
        (celeb / "features" / f"{stem}.bin").unlink()
    assert len(load(celeb, dim=8)) == 2


def test_the_npy_variant(tmp_path: Path) -> None:
    for folder in ("feature", "label"):
        (tmp_path / folder).mkdir()
    np.save(tmp_path / "feature" / "part0_train.npy", np.ones((3, 2)))
    np.save(tmp_path / "label" / "part0_train.npy", np.array([4, 4, 5]))
    fs = load(tmp_path, part="0")
    assert fs.labels is not None
    assert fs.labels.tolist() == [4, 4, 5]


def test_bin_comes_before_npy(celeb: Path) -> None:
    np.save(celeb / "features" / "part0_train.npy", np.ones((2, 3)))
    assert load(celeb, part="0", dim=8).dim == 8


def test_a_truncated_part_is_named(celeb: Path) -> None:
    with pytest.raises(InputError, match=r"part1_test.bin: 96 bytes are not a whole number of rows of 256"):
        load(celeb, part="1")


def test_label_files_beside_the_features_are_not_parts(tmp_path: Path) -> None:
    (tmp_path / "features").mkdir()
    np.save(tmp_path / "features" / "a.npy", np.eye(2))
    np.save(tmp_path / "features" / "a.labels.npy", np.array([3, 4]))
    fs = load(tmp_path)
    assert fs.labels is not None
    assert fs.labels.tolist() == [3, 4]
