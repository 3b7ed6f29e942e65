from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load

PICTURES = {
    "bounding_box_train": ["0007_c3s3_077419_03.jpg", "0002_c1s1_000451_03.jpg"],
    "query": ["0001_c1s1_001051_00.jpg"],
    "bounding_box_test": ["0000_c1s1_000151_01.jpg", "-1_c1s1_000401_03.jpg", "0001_c6s4_001051_00.jpg"],
}


@pytest.fixture
def market(tmp_path: Path) -> Path:
    for number, (name, pictures) in enumerate(PICTURES.items(), start=1):
        (tmp_path / name).mkdir()
        for picture in [*pictures, "Thumbs.db"]:
            (tmp_path / name / picture).touch()
        np.save(tmp_path / f"{name}.npy", np.full((len(pictures), 3), number, dtype=np.float32))
    return tmp_path


def test_the_whole_layout(market: Path) -> None:
    fs = load(market)
    assert repr(fs) == "FeatureSet(6 x 3, 4 classes, 3 cameras, 1 queries, parts train 2 + test 4)"
    assert fs.labels is not None and fs.cameras is not None and fs.query is not None and fs.names is not None
    assert fs.names.tolist() == [name for pictures in PICTURES.values() for name in sorted(pictures)]
    assert fs.labels.tolist() == [2, 7, 1, -1, 0, 1], "junk is -1, distractors are 0"
    assert fs.cameras.tolist() == [1, 3, 1, 1, 1, 6]
    assert fs.query.tolist() == [False, False, True, False, False, False]


def test_a_list_gives_the_order_and_needs_no_pictures(market: Path) -> None:
    for picture in (market / "bounding_box_test").iterdir():
        picture.unlink()
    (market / "bounding_box_test").rmdir()
    (market / "bounding_box_test.txt").write_text("\n".join(PICTURES["bounding_box_test"]) + "\n")
    fs = load(market, part="test")
    assert fs.labels is not None
    assert fs.labels.tolist() == [1, 0, -1, 1]
    (market / "bounding_box_test.txt").unlink()
    with pytest.raises(InputError, match=r"bounding_box_test is neither a folder .* list bounding_box_test.txt"):
        load(market)


def test_the_names_of_dukemtmc(market: Path) -> None:
    (market / "query.txt").write_text("0005_c2_f0046985.jpg\n")
    fs = load(market, part="test")
    assert fs.labels is not None and fs.cameras is not None
    assert (fs.labels[0], fs.cameras[0]) == (5, 2)


def test_what_is_wrong_is_named(market: Path) -> None:
    np.save(market / "query.npy", np.ones((2, 3)))
    with pytest.raises(InputError, match=r"query names 1 pictures, but .*query.npy has 2 rows"):
        load(market)
    (market / "query" / "hello_c1.jpg").touch()
    with pytest.raises(InputError, match=r"'hello_c1.jpg' is not a file name such as '0002_c1s1_000451_03.jpg'"):
        load(market)
