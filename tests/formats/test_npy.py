from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.commit import write_commit
from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import load, npy


def test_small_files_are_read_and_large_ones_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.ones((8, 4), dtype=np.float32))
    np.save(tmp_path / "half.npy", np.ones((8, 4), dtype=np.float16))
    assert not isinstance(load(tmp_path / "a.npy").features, np.memmap)
    monkeypatch.setattr(npy, "LARGE", 100)
    assert isinstance(load(tmp_path / "a.npy").features, np.memmap)
    assert not isinstance(load(tmp_path / "half.npy").features, np.memmap)


def test_only_what_was_read_is_checked_on_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(InputError, match=r"a.npy: features: row 0 is a zero vector \(and 2 more"):
        load(tmp_path / "a.npy")
    monkeypatch.setattr(npy, "LARGE", 1)
    assert len(load(tmp_path / "a.npy")) == 3


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("shape", [(10**12, 256), (2**62, 2**62), (-1, 4)])
def test_a_header_that_claims_too_much_allocates_nothing(version: int, shape: tuple[int, int], tmp_path: Path) -> None:
    write = {1: np.lib.format.write_array_header_1_0, 2: np.lib.format.write_array_header_2_0}[version]
    stream = io.BytesIO()
    write(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
    (tmp_path / "a.npy").write_bytes(stream.getvalue() + bytes(64))
    with pytest.raises(InputError, match=r"a.npy: features is .*the header says shape"):
        load(tmp_path / "a.npy")


def test_truncated_and_too_long(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((3, 2), dtype=np.float32))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[:-1])
    with pytest.raises(InputError, match=r"features is truncated.* which is 24 bytes, but 23 follow it"):
        load(tmp_path / "a.npy")
    (tmp_path / "a.npy").write_bytes(whole + b"x")
    with pytest.raises(InputError, match="not as long as it should be"):
        load(tmp_path / "a.npy")


def test_objects_and_other_types(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[None]]))
    with pytest.raises(InputError, match=r"a.npy: features is an object array"):
        load(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.zeros(2, dtype=[("x", "f4")]))
    with pytest.raises(InputError, match=r"b.npy: features must be numbers"):
        load(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.ones((0, 3), dtype=np.float32))
    with pytest.raises(InputError, match=r"c.npy: features hold no rows"):
        load(tmp_path / "c.npy")


def test_fortran_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.asfortranarray(np.arange(1, 7, dtype=np.float32).reshape(3, 2))
    np.save(tmp_path / "a.npy", features)
    np.testing.assert_array_equal(load(tmp_path / "a.npy").features, features)
    monkeypatch.setattr(npy, "LARGE", 1)
    np.testing.assert_array_equal(load(tmp_path / "a.npy").features, features)


def test_texts_that_are_not_characters(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(1))
    np.save(tmp_path / "a.labels.npy", np.array(["x"]))
    content = bytearray((tmp_path / "a.labels.npy").read_bytes())
    content[-2] = 0xFF
    (tmp_path / "a.labels.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"a.labels.npy: labels holds numbers that are not characters"):
        load(tmp_path / "a.npy")


def test_labels_that_a_killed_run_had_not_named_yet_are_read(tmp_path: Path) -> None:
    FeatureSet(np.eye(4), labels=[0, 0, 1, 1]).save(tmp_path / "x.npy")
    features, labels = tmp_path / "x.npy", tmp_path / "x.labels.npy"
    work = tmp_path / ".x.npy.kinfolk"
    work.mkdir()
    news = {work / "new-00000000.npy": features, work / "new-00000001.npy": labels}
    for new, file in news.items():
        file.rename(new)
    write_commit(work / "commit.json", news)
    next(iter(news)).rename(features)  # killed here
    found = load(features).labels
    assert found is not None and found.tolist() == [0, 0, 1, 1]
