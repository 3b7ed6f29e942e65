from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import save
from kinfolk.formats._lists import find_features, read_entries, read_layout
from kinfolk.formats._shards import joined

LISTS = (
    ("train", "train.txt", "train", False),
    ("query", "query.txt", "test", True),
    ("all", "all.txt", "test", False),
)
ENTRIES = [("a.jpg", 3, 1), ("b.jpg", 4, 2)]


def layout(folder: Path, *stems: str, enhanced: tuple[str, ...] = ()) -> FeatureSet:
    for stem in stems:
        save(FeatureSet(np.ones((2, 3)), enhanced=stem in enhanced), folder / f"{stem}.npy")
    return read_layout(folder, LISTS, lambda name: ENTRIES, None)


def test_features_beside_the_lists_come_before_those_in_a_folder(tmp_path: Path) -> None:
    assert find_features(tmp_path, "train") is None
    for place in ("feature", "features", "."):
        (tmp_path / place).mkdir(exist_ok=True)
        for suffix in (".bin", ".npy"):
            (tmp_path / place / f"train{suffix}").touch()
            assert find_features(tmp_path, "train") == tmp_path / place / f"train{suffix}"


def test_every_line_is_parsed_or_named(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a.jpg\nb.jpg\nwrong\n")
    with pytest.raises(InputError, match=r"list.txt: line 3: 'wrong' is not a line such as 'x.jpg'"):
        read_entries(tmp_path / "list.txt", lambda line: (line, 1, 2) if line.endswith(".jpg") else None, "x.jpg")
    assert read_entries(tmp_path / "list.txt", lambda line: (line, 1, 2), "x.jpg")[1] == ("b.jpg", 1, 2)


def test_all_lists(tmp_path: Path) -> None:
    fs = layout(tmp_path, "train", "query", "all")
    assert fs.part_names == ("train", "test") and not fs.enhanced
    assert fs.labels is not None and fs.query is not None and fs.part_index is not None
    assert fs.labels.tolist() == [3, 4] * 3
    assert fs.query.tolist() == [False, False, True, True, False, False]
    assert fs.part_index.tolist() == [0, 0, 1, 1, 1, 1]


def test_a_part_without_features_is_left_out(tmp_path: Path) -> None:
    fs = layout(tmp_path, "query", "all")
    assert fs.part_names == ("test",)
    assert fs.part_index is not None and set(fs.part_index) == {0}


def test_a_test_part_needs_all_its_lists(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"all.npy is missing: the test part needs queries and gallery"):
        layout(tmp_path, "train", "query")


def test_enhanced_features_stay_marked(tmp_path: Path) -> None:
    assert layout(tmp_path, "query", "all", enhanced=("query", "all")).enhanced


def test_enhanced_and_plain_features_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="some of the feature files are marked as enhanced, others are not"):
        layout(tmp_path, "query", "all", enhanced=("query",))


def test_dimensions_must_agree(tmp_path: Path, small: FeatureSet) -> None:
    other = replace(small, features=small.features[:, :2])
    with pytest.raises(InputError, match="the feature files differ in dimension: 2, 4"):
        joined(tmp_path, [small, other])
