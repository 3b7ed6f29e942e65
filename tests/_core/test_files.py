from __future__ import annotations

from pathlib import Path

import pytest

from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, existing_folder, flush_to_disk, refuse_existing, replacing


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"
    with replacing(target) as temporary:
        assert temporary.parent == target.parent
        assert temporary.suffix == ".txt"
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_keeps_the_old_file_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(target, force=True) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_no_half_folder(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "a") as temporary:
        temporary.mkdir()
        (temporary / "half.txt").write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_existing_targets_need_force(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(InputError, match=r"a.txt exists already.*force=True"), replacing(target):
        raise AssertionError("the block must not run")
    with replacing(target, force=True) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"


def test_a_folder_replaces_a_folder_but_a_file_does_not(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.mkdir()
    (target / "old.txt").write_text("old")
    with pytest.raises(InputError, match="is a folder"), replacing(target, force=True) as temporary:
        temporary.write_text("a file")
    assert (target / "old.txt").read_text() == "old"
    with replacing(target, force=True) as temporary:
        temporary.mkdir()
        (temporary / "new.txt").write_text("new")
    assert [path.name for path in target.iterdir()] == ["new.txt"]
    assert list(tmp_path.iterdir()) == [target]


def test_existing_file(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("x")
    (tmp_path / "empty").touch()
    assert existing_file(str(tmp_path / "full")) == tmp_path / "full"
    for path, message in (
        (tmp_path / "none", "does not exist"),
        (tmp_path / "empty", "is empty"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(InputError, match=message):
            existing_file(path)


def test_existing_folder(tmp_path: Path) -> None:
    assert existing_folder(tmp_path, "a model folder") == tmp_path
    with pytest.raises(InputError, match="none does not exist: a model folder was expected"):
        existing_folder(tmp_path / "none", "a model folder")


def test_refuse_existing(tmp_path: Path) -> None:
    refuse_existing(tmp_path / "none", force=False)
    refuse_existing(tmp_path, force=True)
    with pytest.raises(InputError, match="exists already"):
        refuse_existing(tmp_path, force=False)


def test_flush_keeps_the_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("whole")
    flush_to_disk(tmp_path / "a")
    assert (tmp_path / "a").read_text() == "whole"
