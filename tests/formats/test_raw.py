from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.formats import load


def test_always_mapped_and_never_read_on_opening(tmp_path: Path) -> None:
    with (tmp_path / "a.bin").open("wb") as stream:
        stream.truncate(5_210_000 * 256 * 4)  # sparse: nothing is stored
    fs = load(tmp_path / "a.bin")
    assert isinstance(fs.features, np.memmap)
    assert fs.features.shape == (5_210_000, 256)
    with pytest.raises(InputError, match="row 0 is a zero vector"):
        fs.take(slice(0, 10)).validate()


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (4 * 128, r"the file is truncated or dim=256 is wrong \(dim=128 would fit\)"),
        (4 * 1920, r"\(dim=128 or dim=384 would fit\)"),
        (4 * 256 + 2, r"1,026 bytes are not a whole number of rows .*none of the usual dimensions fits either"),
    ],
)
def test_a_size_that_does_not_fit(size: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(size))
    with pytest.raises(InputError, match=rf"a.bin: .*{message}"):
        load(tmp_path / "a.bin")


def test_labels_tell_the_dimension(tmp_path: Path) -> None:
    np.ones((6, 512), dtype=np.float32).tofile(tmp_path / "a.bin")
    (tmp_path / "a.meta").write_text("0\n" * 6)
    with pytest.raises(
        InputError, match=r"a.meta has 6 labels, but .*a.bin has 12 rows of 256 .*with dim=512 they would"
    ):
        load(tmp_path / "a.bin")
    assert load(tmp_path / "a.bin", dim=512).dim == 512
