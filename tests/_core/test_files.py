from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kinfolk._core import files, outputs
from kinfolk._core.errors import InputError
from kinfolk._core.files import (
    added,
    adding,
    existing_file,
    existing_folder,
    record,
    replacing,
    replacing_folder,
    replacing_together,
    settled,
    steady,
)
from kinfolk._core.manifest import read_manifest


def content(folder: Path) -> dict[str, str]:
    """Return every file below a folder, hidden ones too, with its text."""
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def make(folder: Path, text: str, force: bool = False) -> None:
    with replacing_folder(folder, "graph", force=force) as temporary:
        (temporary / "a.txt").write_text(text)
        (temporary / "sub").mkdir()
        (temporary / "sub" / "b.txt").write_text(text)


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"
    with replacing(target) as temporary:
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
    assert content(tmp_path) == {"a.txt": "old"}


def test_a_failure_leaves_no_half_folder_and_no_folder_made_for_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replacing_folder(tmp_path / "new" / "a", "graph") as temporary:
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
    assert content(tmp_path) == {"a.txt": "new"}


def test_a_file_may_be_read_by_those_who_may_read_any_new_one_or_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "any").touch()
    for _ in range(2):
        with replacing(tmp_path / "a.txt", force=True) as temporary:
            temporary.write_text("whole")
            temporary.chmod(0o600)
        assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "any").stat().st_mode
    (tmp_path / "a.txt").chmod(0o640)
    with replacing(tmp_path / "a.txt", force=True) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_a_file_that_appears_meanwhile_is_not_replaced_without_force(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"), replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("mine")
        (tmp_path / "a.txt").write_text("another's")
    assert content(tmp_path) == {"a.txt": "another's"}


def test_a_file_system_without_links_has_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", none)
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("whole")
    assert content(tmp_path) == {"a.txt": "whole"}


def test_a_link_at_the_target_is_replaced_and_not_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "a.txt").symlink_to(tmp_path / "mine.txt")
    with replacing(tmp_path / "a.txt", force=True) as temporary:
        temporary.write_text("new")
    assert content(tmp_path) == {"a.txt": "new", "mine.txt": "mine"}


def test_files_that_belong_together_are_all_there_or_none(tmp_path: Path) -> None:
    pair = [tmp_path / "a.npy", tmp_path / "a.labels.npy"]
    with pytest.raises(ZeroDivisionError), replacing_together(pair) as temporaries:
        temporaries[0].write_text("half")
        raise ZeroDivisionError
    assert content(tmp_path) == {}
    with replacing_together(pair) as temporaries:
        for temporary in temporaries:
            temporary.write_text("whole")
    assert content(tmp_path) == {"a.labels.npy": "whole", "a.npy": "whole"}


def half_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch, renames_before_the_kill: int) -> list[Path]:
    """Return two files that belong together, after a kill while they were replaced."""
    pair = [folder / "a.npy", folder / "a.labels.npy"]
    for file in pair:
        file.write_text("old")

    class Killed(BaseException):
        pass

    def killed(work: Path, folder: Path) -> None:
        new = sorted(work.glob("new-*"))[:renames_before_the_kill]
        names = json.loads((work / "commit.json").read_text())
        for temporary in new:
            temporary.replace(folder / names[temporary.name][0])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(files, "finish_commit", killed)
        patch.setattr(outputs, "_settle", lambda *_: None)  # a killed process mends nothing
        with pytest.raises(Killed), replacing_together(pair, force=True) as temporaries:
            for temporary in temporaries:
                temporary.write_text("new")
    return pair


@pytest.mark.parametrize("renames_before_the_kill", [0, 1])
def test_a_kill_between_two_names_is_mended_by_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames_before_the_kill: int
) -> None:
    pair = half_replaced(tmp_path, monkeypatch, renames_before_the_kill)
    settled(pair[0])
    assert content(tmp_path) == {"a.labels.npy": "new", "a.npy": "new"}


def test_what_a_user_put_there_after_a_kill_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = half_replaced(tmp_path, monkeypatch, 0)
    for file in pair:
        file.write_text("mended by hand")
    settled(pair[0])
    assert content(tmp_path) == {"a.labels.npy": "mended by hand", "a.npy": "mended by hand"}


def test_files_that_a_kill_left_half_replaced_and_a_user_changed_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = half_replaced(tmp_path, monkeypatch, 1)
    for file in pair:
        file.write_text("mended by hand")
    with pytest.raises(InputError, match="half replaced when kinfolk was killed, and was changed since"):
        settled(pair[0])
    assert [file.read_text() for file in pair] == 2 * ["mended by hand"]


def test_a_folder_that_is_edited_while_it_is_replaced_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "graph"
    make(target, "old")
    changed = pytest.raises(InputError, match=r"changed since kinfolk wrote them \(a.txt\)")
    with changed, replacing_folder(target, "graph", force=True) as new:
        (new / "a.txt").write_text("new")
        (target / "a.txt").write_text("a user's notes")
    assert (target / "a.txt").read_text() == "a user's notes"


def test_what_is_private_stays_private_while_it_is_replaced_and_after(tmp_path: Path) -> None:
    folder, file = tmp_path / "graph", tmp_path / "a.csv"
    make(folder, "old")
    file.write_text("old")
    folder.chmod(0o700)
    (folder / "a.txt").chmod(0o600)
    file.chmod(0o600)
    with replacing_folder(folder, "graph", force=True) as new:
        (new / "a.txt").write_text("new")
        assert new.stat().st_mode & 0o077 == 0
    with replacing(file, force=True) as temporary:
        temporary.write_text("new")
        assert temporary.parent.stat().st_mode & 0o077 == 0
    modes = [path.stat().st_mode & 0o777 for path in (folder, folder / "a.txt", file)]
    assert modes == [0o700, 0o600, 0o600]


FORKED = """
import os, sys
from pathlib import Path
from kinfolk._core.errors import InputError
from kinfolk._core.files import replacing
target, then = Path(sys.argv[1]), sys.argv[2]
child = None
try:
    with replacing(target) as temporary:
        temporary.write_text("parent")
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        elif then == "write":
            with replacing(target) as other:
                other.write_text("child")
        elif then == "end":
            raise SystemExit
except (SystemExit, InputError):
    if child == 0:
        os._exit(0)
    raise
assert child, "the forked process wrote what its parent writes"
"""


@pytest.mark.parametrize("then", ["write", "end", "go on"])
def test_a_forked_process_has_no_part_in_what_its_parent_writes(tmp_path: Path, then: str) -> None:
    subprocess.run([sys.executable, "-c", FORKED, tmp_path / "a.txt", then], check=True)
    assert content(tmp_path) == {"a.txt": "parent"}


def test_a_folder_has_a_manifest_and_is_replaced_by_its_like(tmp_path: Path) -> None:
    target = tmp_path / "graph"
    make(target, "old")
    manifest = read_manifest(target)
    assert manifest is not None
    assert (manifest.kind, sorted(manifest.files)) == ("graph", ["a.txt", "sub/b.txt"])
    with pytest.raises(InputError, match="exists already"):
        make(target, "new")
    make(target, "new", force=True)
    assert (target / "sub" / "b.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_the_old_folder_goes_only_when_the_new_one_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    target = tmp_path / "graph"
    make(target, "old")
    seen = []
    remove = files.remove_folder
    monkeypatch.setattr(files, "remove_folder", lambda old: seen.append((target / "a.txt").read_text()) or remove(old))
    if not can_exchange:
        monkeypatch.setattr(files, "exchange", lambda one, other: False)
    make(target, "new", force=True)
    assert seen == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def test_a_kill_between_moving_aside_and_putting_in_place_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "graph"
    make(target, "old")
    rename, calls = Path.rename, []

    def killed(this: Path, other: Path) -> Path:
        calls.append(this)
        if len(calls) == 3:  # new -> old-1, target -> old-2, and then
            raise KeyboardInterrupt
        return rename(this, other)

    with monkeypatch.context() as patch:
        patch.setattr(files, "exchange", lambda one, other: False)
        patch.setattr(Path, "rename", killed)
        patch.setattr(outputs, "_settle", lambda *_: None)  # a killed process mends nothing
        with pytest.raises(KeyboardInterrupt):
            make(target, "new", force=True)
    assert not target.exists()
    with pytest.raises(InputError, match="exists already"):
        make(target, "newer")
    assert (target / "a.txt").read_text() in ("old", "new")


def test_folders_of_users_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("mine")
    make(tmp_path / "graph", "old")
    (tmp_path / "graph" / "notes.txt").write_text("mine")
    make(tmp_path / "edited", "old")
    (tmp_path / "edited" / "a.txt").write_text("corrected by hand")
    make(tmp_path / "linked", "old")
    (tmp_path / "link").symlink_to(tmp_path / "linked")
    (tmp_path / "model").mkdir()
    with replacing_folder(tmp_path / "model", "model"):
        pass
    before = content(tmp_path)
    monkeypatch.chdir(tmp_path / "photos")
    for path, message in (
        (tmp_path / "photos", "current folder"),
        (Path(), "current folder"),
        (Path(".."), "current folder"),
        (tmp_path / "graph", r"did not write \(notes.txt\)"),
        (tmp_path / "edited", r"changed since kinfolk wrote them \(a.txt\)"),
        (tmp_path / "link", "is a link"),
        (tmp_path / "model", "holds model, not graph"),
        (tmp_path / "photos" / "cat.jpg", "is a file"),
    ):
        with pytest.raises(InputError, match=message):
            make(path, "new", force=True)
    monkeypatch.chdir("/")
    with pytest.raises(InputError, match=r"did not write \(cat.jpg\)"):
        make(tmp_path / "photos", "new", force=True)
    assert content(tmp_path) == before


def test_what_a_user_adds_while_the_work_goes_on_is_safe(tmp_path: Path) -> None:
    target = tmp_path / "graph"
    make(target, "old")
    with pytest.raises(InputError, match=r"notes.txt"), replacing_folder(target, "graph", force=True) as temporary:
        (temporary / "a.txt").write_text("new")
        (target / "notes.txt").write_text("mine")
    assert content(target)["notes.txt"] == "mine"
    assert content(target)["a.txt"] == "old"


def test_files_are_added_among_others_and_known_again(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with adding(tmp_path, "figures") as folder:
        (folder / "a.svg").write_text("a")
        (folder / "log.csv").write_text("1")
        record(folder, "figures", ["a.svg"], growing=["log.csv"])
    (tmp_path / "log.csv").write_text("1, 2")
    assert added(tmp_path, "figures") == {"a.svg", "log.csv"}
    assert added(tmp_path, "results") == set()
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert manifest.foreign(tmp_path) == ["mine.txt"]
    assert manifest.changed(tmp_path) == []
    with pytest.raises(InputError, match="holds figures, not results"), adding(tmp_path, "results"):
        pass
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    with pytest.raises(InputError, match=r"manifest.json that is not kinfolk's"), adding(tmp_path, "figures"):
        pass


def test_threads_record_side_by_side(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").touch()
    threads = [threading.Thread(target=record, args=(tmp_path, "figures", [f"{n}.txt"])) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert added(tmp_path, "figures") == {f"{number}.txt" for number in range(8)}


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


def test_what_is_read_while_it_is_replaced_belongs_together(tmp_path: Path) -> None:
    target = tmp_path / "graph"
    make(target, "old")
    replaced = []

    def read() -> list[str]:
        first = (target / "a.txt").read_text()
        if not replaced:
            replaced.append(True)
            make(target, "new", force=True)
        return [first, (target / "sub" / "b.txt").read_text()]

    assert steady([target], read) == ["new", "new"]


def test_an_error_of_reading_is_raised_unless_the_file_was_replaced(tmp_path: Path) -> None:
    file, calls = tmp_path / "a.txt", []
    file.write_text("1")

    def read() -> int:
        calls.append(1)
        if len(calls) == 1:
            with replacing(file, force=True) as temporary:
                temporary.write_text("22")
        raise InputError("wrong")

    with pytest.raises(InputError, match="wrong"):
        steady([file], read)
    assert len(calls) == 2


def test_a_file_that_is_replaced_for_ever_is_not_read_for_ever(tmp_path: Path) -> None:
    def read() -> None:
        (tmp_path / "a.txt").write_text("x" * len(list(calls)) + "y")
        calls.append(1)

    calls: list[int] = []
    with pytest.raises(InputError, match="again and again"):
        steady([tmp_path / "a.txt"], read)


def test_a_manifest_that_is_not_kinfolks_stays(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    (tmp_path / "a.svg").touch()
    with pytest.raises(InputError, match=r"manifest.json that is not kinfolk's"):
        record(tmp_path, "figures", ["a.svg"])
    assert (tmp_path / "manifest.json").read_text() == '{"name": "a web page"}'


def test_a_signal_while_temporary_files_are_removed_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink, calls = Path.unlink, []

    def interrupted(this: Path, missing_ok: bool = False) -> None:
        calls.append(this)
        if len(calls) == 1:
            raise KeyboardInterrupt
        unlink(this, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "a.txt") as temporary:
            temporary.write_text("whole")
    assert content(tmp_path) == {"a.txt": "whole"}
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
