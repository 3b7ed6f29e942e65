from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load

LISTS = {
    "train": ["0000/0000_000_01_0303morning_0008_0.jpg 0", "0001/0001_000_05_0303morning_0008_0.jpg 1"],
    "val": ["0001/0001_001_14_0303noon_0008_0.jpg 1"],
    "query": ["0000/0000_000_02_0113afternoon_1.jpg 0"],
    "gallery": ["0000/0000_001_03_0113afternoon_1.jpg 0", "0001/0001_001_04_0113afternoon_1.jpg 1"],
}


@pytest.fixture
def msmt(tmp_path: Path) -> Path:
    (tmp_path / "features").mkdir()
    for number, (name, lines) in enumerate(LISTS.items(), start=1):
        (tmp_path / f"list_{name}.txt").write_text("\n".join(lines) + "\n")
        np.save(tmp_path / "features" / f"{name}.npy", np.full((len(lines), 3), number, dtype=np.float32))
    return tmp_path


def test_the_whole_layout(msmt: Path) -> None:
    fs = load(msmt)
    assert repr(fs) == "FeatureSet(6 x 3, 4 classes, 6 cameras, 1 queries, parts train 3 + test 3)"
    assert fs.labels is not None and fs.cameras is not None and fs.query is not None and fs.names is not None
    assert fs.labels.tolist() == [0, 1, 1, 2, 2, 3], "test identities go on where the training ones end"
    assert fs.cameras.tolist() == [1, 5, 14, 2, 3, 4]
    assert fs.query.tolist() == [False, False, False, True, False, False]
    assert fs.features[:, 0].tolist() == [1, 1, 2, 3, 4, 4]
    assert fs.names[0] == LISTS["train"][0].split()[0]
    assert len(load(msmt, part="test")) == 3


def test_validation_features_and_training_features_are_optional(msmt: Path) -> None:
    (msmt / "features" / "val.npy").unlink()
    assert len(load(msmt)) == 5
    (msmt / "features" / "train.npy").unlink()
    fs = load(msmt)
    assert fs.part_names == ("test",)
    assert fs.labels is not None
    assert fs.labels.tolist() == [2, 2, 3], "the labels do not depend on which features are there"


def test_raw_features_beside_the_lists(msmt: Path) -> None:
    for name in LISTS:
        np.load(msmt / "features" / f"{name}.npy").tofile(msmt / f"{name}.bin")
        (msmt / "features" / f"{name}.npy").unlink()
    fs = load(msmt, dim=3)
    assert len(fs) == 6
    assert not isinstance(fs.features, np.memmap)


def test_what_is_missing_is_named(msmt: Path) -> None:
    (msmt / "features" / "gallery.npy").unlink()
    with pytest.raises(InputError, match=r"gallery.npy is missing: the test part needs queries and gallery"):
        load(msmt)
    np.save(msmt / "features" / "gallery.npy", np.ones((2, 3)))
    (msmt / "list_query.txt").unlink()
    with pytest.raises(InputError, match=r"list_query.txt does not exist"):
        load(msmt)
    for file in (msmt / "features").iterdir():
        file.unlink()
    with pytest.raises(InputError, match=r"the lists are there, but no features: expected train.npy"):
        load(msmt)


def test_counts_and_dimensions_must_agree(msmt: Path) -> None:
    np.save(msmt / "features" / "query.npy", np.ones((2, 3)))
    with pytest.raises(InputError, match=r"list_query.txt names 1 pictures, but .*query.npy has 2 rows"):
        load(msmt)
    np.save(msmt / "features" / "query.npy", np.ones((1, 4)))
    with pytest.raises(InputError, match=r"the feature files differ in dimension: 3, 4"):
        load(msmt)


@pytest.mark.parametrize(
    "line", ["0000/0000_000.jpg 0", "0000/0000_000_xx_03.jpg 0", "0000/0000_000_01_03.jpg", "a b c"]
)
def test_a_line_that_is_not_one_of_msmt17(line: str, msmt: Path) -> None:
    (msmt / "list_gallery.txt").write_text(f"{LISTS['gallery'][0]}\n{line}\n")
    with pytest.raises(InputError, match=r"list_gallery.txt: line 2: .* is not a line such as '0000/0000_000_01_0303"):
        load(msmt)
