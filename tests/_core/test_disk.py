from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kinfolk._core import disk
from kinfolk._core.disk import exchange, flush_to_disk, is_full, refuse_full_disk, reserve, writing
from kinfolk._core.errors import DiskFullError, InputError


@pytest.mark.parametrize("can_allocate", [True, False])
def test_reserved_space_is_really_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_allocate: bool) -> None:
    def cannot(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    if not can_allocate:
        monkeypatch.setattr(os, "posix_fallocate", cannot)
    reserve(tmp_path / "a", 3_000_000)
    facts = (tmp_path / "a").stat()
    assert facts.st_size == 3_000_000
    assert facts.st_blocks * 512 >= 3_000_000
    assert not any((tmp_path / "a").read_bytes())


def test_a_disk_that_is_too_small_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DiskFullError, match="the disk is full"):
        reserve(tmp_path / "a", 10**18)
    with pytest.raises(DiskFullError, match=r"GB are needed"):
        refuse_full_disk(tmp_path, 10**18)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DiskFullError, match="b cannot be written: the disk is full"):
        reserve(tmp_path / "b", 10)


def test_a_file_that_is_there_is_not_reserved_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(InputError, match="File exists"):
        reserve(tmp_path / "a", 10)
    assert (tmp_path / "a").read_text() == "mine"


def test_every_way_in_which_libraries_say_that_a_disk_is_full() -> None:
    wrapped = InputError("the tensors cannot be written")
    wrapped.__cause__ = RuntimeError("No space left on device (os error 28)")
    hidden = ValueError("cannot close")
    hidden.__context__ = OSError(errno.EDQUOT, "Disk quota exceeded")
    for error in (
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("701696 requested and 524256 written"),
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),
        hidden,
        wrapped,
    ):
        assert is_full(error)
        with pytest.raises(DiskFullError, match="x cannot be written: the disk is full"), writing(Path("x")):
            raise error
    assert not is_full(OSError(errno.EACCES, "Permission denied"))
    assert not is_full(None)


def test_errors_of_others_pass_and_missing_rights_are_one_sentence() -> None:
    with pytest.raises(InputError, match="x cannot be written: Permission denied"), writing(Path("x")):
        raise PermissionError(errno.EACCES, "Permission denied")
    with pytest.raises(ZeroDivisionError), writing(Path("x")):
        raise ZeroDivisionError


def test_flush_keeps_the_contents(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_text("whole")
    (tmp_path / "dangling").symlink_to("none")
    flush_to_disk(tmp_path)
    assert (tmp_path / "sub" / "a").read_text() == "whole"


def test_two_folders_exchange_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name.txt").write_text(name)
    if exchange(tmp_path / "one", tmp_path / "other"):  # not every file system can
        assert (tmp_path / "one" / "name.txt").read_text() == "other"
        assert (tmp_path / "other" / "name.txt").read_text() == "one"
    monkeypatch.setattr(disk.ctypes, "CDLL", lambda name: object())
    assert not exchange(tmp_path / "one", tmp_path / "other")
