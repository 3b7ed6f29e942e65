from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kinfolk._core.errors import InputError
from kinfolk._core.manifest import write_manifest
from kinfolk._core.outputs import claim, release_all

HOLD = """
import sys
from kinfolk._core.outputs import claim
with claim(sys.argv[1]) as work:
    print("held", flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def holder(target: Path) -> subprocess.Popen[str]:
    """Return another process that holds the lock of a target until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_another_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    with holder(target) as process:
        with pytest.raises(InputError, match=r"a.csv is being written by another process"), claim(target):
            raise AssertionError("the block must not run")
        process.communicate()
    with claim(target):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    with holder(target) as process:
        process.kill()
    with claim(target):
        pass
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_of_a_killed_run_go_and_others_stay(tmp_path: Path) -> None:
    work = tmp_path / ".a.kinfolk"
    (work / "new-0123abcd").mkdir(parents=True)
    (work / "new-0123abcd" / "half.npy").touch()
    (work / "new-0123abce.npy").touch()
    (work / "partial").mkdir()
    (work / "a users own.txt").write_text("mine")
    (tmp_path / "victim.txt").write_text("mine")
    (work / "new-0123abcf.npy").symlink_to(tmp_path / "victim.txt")
    with claim(tmp_path / "a"):
        assert names(work) == ["a users own.txt", "lock", "partial"]
    assert names(work) == ["a users own.txt", "partial"]
    assert (tmp_path / "victim.txt").read_text() == "mine"


def test_one_thread_may_claim_twice_and_two_may_not(tmp_path: Path) -> None:
    target, refused = tmp_path / "a.csv", []

    def other() -> None:
        try:
            with claim(target):
                pass
        except InputError as error:
            refused.append(str(error))

    with claim(target) as work, claim(target) as again:
        assert work == again
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "is being written" in refused[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["work", "lock"])
def test_links_planted_where_kinfolk_works_are_not_followed(tmp_path: Path, place: str) -> None:
    work, victim = tmp_path / ".a.csv.kinfolk", tmp_path / "victim"
    victim.mkdir()
    (victim / "mine.txt").write_text("mine")
    if place == "work":
        work.symlink_to(victim)
    else:
        work.mkdir()
        (work / "lock").symlink_to(victim / "mine.txt")
    with pytest.raises(InputError), claim(tmp_path / "a.csv"):
        raise AssertionError("the block must not run")
    assert (victim / "mine.txt").read_text() == "mine"
    assert names(victim) == ["mine.txt"]


def test_a_place_that_cannot_be_written_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written: Not a directory"), claim(tmp_path / "file" / "a.csv"):
        pass
    with pytest.raises(InputError, match="is a folder"), claim(tmp_path):
        pass
    with pytest.raises(InputError, match="cannot be written: File name too long"), claim(tmp_path / ("n" * 260)):
        pass


def test_a_file_system_without_locks_has_one_writer_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with claim(tmp_path / "a.csv") as work:
        assert names(work) == ["lock", "writer"]
    assert list(tmp_path.iterdir()) == []
    work.mkdir()
    (work / "writer").touch()
    with pytest.raises(InputError, match=r"or remove .*/writer if there is none"), claim(tmp_path / "a.csv"):
        raise AssertionError("the block must not run")
    assert names(work) == ["lock", "writer"]


def test_everything_is_given_back_when_a_program_must_end(tmp_path: Path) -> None:
    first, second = claim(tmp_path / "new" / "a.csv"), claim(tmp_path / "new" / "b.csv")
    (first.__enter__() / "new-0123abcd.csv").touch()
    second.__enter__()
    release_all()
    assert list(tmp_path.iterdir()) == []
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)


def test_an_old_folder_whose_removal_had_begun_does_not_come_back(tmp_path: Path) -> None:
    old = tmp_path / ".a.kinfolk" / "old-0123abcd"
    old.mkdir(parents=True)
    for name in ("one.npy", "two.npy"):
        (old / name).touch()
    write_manifest(old, "graph")
    (old / "one.npy").unlink()
    with claim(tmp_path / "a", kind="graph"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_left_that_was_killed_when_its_output_was_in_place_goes(tmp_path: Path) -> None:
    for name in ("v.bin", "v.meta"):
        (tmp_path / name).write_text("whole")
        (tmp_path / f".{name}.kinfolk").mkdir()
        (tmp_path / f".{name}.kinfolk" / "lock").touch()
    (tmp_path / ".v.bin.kinfolk" / "new-0123abcd.bin").hardlink_to(tmp_path / "v.bin")
    with pytest.raises(InputError, match="exists already"), claim(tmp_path / "v.bin"):
        raise AssertionError("the block must not run")
    assert names(tmp_path) == ["v.bin", "v.meta"]
    assert (tmp_path / "v.bin").read_text() == "whole"


def test_a_work_folder_of_another_user_in_a_place_like_tmp_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".a.csv.kinfolk").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with claim(tmp_path / "a.csv"):
        pass  # a folder that a group shares
    (tmp_path / ".a.csv.kinfolk").mkdir()
    tmp_path.chmod(0o1777)
    with pytest.raises(InputError, match="is of another user"), claim(tmp_path / "a.csv"):
        pass
