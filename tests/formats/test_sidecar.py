from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kinfolk._core.errors import InputError
from kinfolk.features import FeatureSet
from kinfolk.formats import load, save
from kinfolk.formats._sidecar import read_enhanced, replacing_with_sidecar, sidecar

ENHANCED = FeatureSet(np.eye(3), enhanced=True)


@pytest.mark.parametrize("suffix", [".npy", ".bin"])
def test_only_enhanced_features_have_one(suffix: str, tmp_path: Path) -> None:
    save(FeatureSet(np.eye(3)), tmp_path / f"plain{suffix}")
    assert [file.name for file in tmp_path.iterdir()] == [f"plain{suffix}"]
    save(ENHANCED, tmp_path / f"better{suffix}")
    assert json.loads((tmp_path / f"better{suffix}.json").read_text())["enhanced"] is True


def test_it_says_nothing_of_other_features_that_take_the_place(tmp_path: Path) -> None:
    save(ENHANCED, tmp_path / "a.npy")
    assert load(tmp_path / "a.npy").enhanced
    np.save(tmp_path / "a.npy", 2 * np.eye(3, dtype=np.float32))
    assert not load(tmp_path / "a.npy").enhanced
    save(FeatureSet(np.eye(3)), tmp_path / "a.npy", force=True)
    assert not load(tmp_path / "a.npy").enhanced
    sidecar(tmp_path / "a.npy").write_text('{"enhanced": true}')  # by hand: it holds for whatever is there
    assert load(tmp_path / "a.npy").enhanced


def test_files_of_one_name_and_two_formats_have_one_each(tmp_path: Path) -> None:
    save(ENHANCED, tmp_path / "a.npy")
    save(FeatureSet(np.eye(3)), tmp_path / "a.bin")
    assert load(tmp_path / "a.npy").enhanced
    assert not load(tmp_path / "a.bin", dim=3).enhanced


def test_it_appears_with_the_features_or_not_at_all(tmp_path: Path) -> None:
    labels = tmp_path / "a.labels.npy"
    with pytest.raises(ZeroDivisionError), replacing_with_sidecar(ENHANCED, tmp_path / "a.npy", labels, force=False):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_there_is_replaced_only_with_force(tmp_path: Path) -> None:
    sidecar(tmp_path / "a.npy").write_text('{"enhanced": true}')
    with pytest.raises(InputError, match=r"a.npy.json exists already"):
        save(FeatureSet(np.eye(3)), tmp_path / "a.npy")
    assert [file.name for file in tmp_path.iterdir()] == ["a.npy.json"]


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    foreign = sidecar(tmp_path / "a.npy")
    foreign.write_text('{"author": "me"}')
    save(FeatureSet(np.eye(3)), tmp_path / "a.npy")
    assert not load(tmp_path / "a.npy").enhanced
    assert foreign.read_text() == '{"author": "me"}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "an object such as"),
        ("{", "not JSON that can be read"),
        ('{"enhanced": 2}', "enhanced must be true or false"),
        ("", "is empty"),
    ],
)
def test_damage_is_named(content: str, message: str, tmp_path: Path) -> None:
    sidecar(tmp_path / "a.npy").write_text(content)
    with pytest.raises(InputError, match=rf"a\.npy\.json.*{message}"):
        read_enhanced(tmp_path / "a.npy")
