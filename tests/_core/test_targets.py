from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinfolk._core.errors import InputError
from kinfolk._core.manifest import write_manifest
from kinfolk._core.outputs import claim
from kinfolk._core.targets import check_target, refuse_existing


def test_inputs_are_never_outputs(tmp_path: Path) -> None:
    (tmp_path / "set.kf").mkdir()
    (tmp_path / "set.kf" / "features.npy").touch()
    (tmp_path / "x.npy").touch()
    (tmp_path / "y.npy").symlink_to(tmp_path / "x.npy")
    (tmp_path / "z.npy").hardlink_to(tmp_path / "x.npy")
    for output in ("x.npy", "y.npy", "z.npy"):
        with pytest.raises(InputError, match=r"would replace .*x.npy, which is read here"):
            check_target(tmp_path / output, force=True, inputs=[None, tmp_path / "x.npy"])
    with pytest.raises(InputError):
        check_target(tmp_path, force=True, kind="graph", inputs=[tmp_path / "set.kf"])
    check_target(tmp_path / "other.npy", inputs=[tmp_path / "x.npy", tmp_path / "missing.npy"])


def test_refuse_existing(tmp_path: Path) -> None:
    refuse_existing(tmp_path / "none", force=False)
    refuse_existing(tmp_path, force=False)  # empty
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    refuse_existing(tmp_path, force=True)
    for path in (tmp_path, tmp_path / "dangling"):
        with pytest.raises(InputError, match="exists already"):
            refuse_existing(path, force=False)


def test_a_place_where_a_disk_is_mounted_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path / "disk")
    with pytest.raises(InputError, match="is where a disk is mounted"):
        check_target(tmp_path / "disk", kind="graph")


def test_files_of_a_folder_that_is_read_are_not_replaced(tmp_path: Path) -> None:
    source = tmp_path / "by-hand.kf"
    source.mkdir()
    (source / "features.npy").write_text("mine")
    with pytest.raises(InputError, match=r"is a file of .*, which is read here"):
        check_target(source / "features.npy", force=True, inputs=[source])
    check_target(source / "clusters.csv", force=True, inputs=[source])  # nothing is there


def test_nothing_is_written_into_a_folder_of_kinfolk_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "set.kf").mkdir()
    (tmp_path / "pictures").mkdir()
    write_manifest(tmp_path / "set.kf", "features")
    with pytest.raises(InputError, match=r"c.csv lies inside .*set.kf"):
        check_target(tmp_path / "set.kf" / "c.csv", inputs=[tmp_path / "set.kf"])
    check_target(tmp_path / "pictures" / "c.csv", inputs=[tmp_path / "pictures"])


def test_pipes_and_devices_are_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is a device or a pipe"):
        check_target(tmp_path / "pipe.csv", force=True)


def test_a_folder_of_kinfolk_0_1_is_refused_by_name(tmp_path: Path) -> None:
    for name in ("config.json", "weights.safetensors", "README.md"):
        (tmp_path / name).touch()
    with pytest.raises(
        InputError, match=r"config.json, weights.safetensors\), or that kinfolk 0.1 wrote.*move it away"
    ):
        check_target(tmp_path, force=True, kind="model")


def test_the_root_is_refused_as_every_folder_above():
    with pytest.raises(InputError, match="never replaced"), claim("/", force=True, kind="graph"):
        pass
