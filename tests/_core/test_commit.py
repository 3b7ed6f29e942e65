from __future__ import annotations

from pathlib import Path

import pytest

from kinfolk._core.commit import COMMIT, finish_commit, write_commit
from kinfolk._core.errors import InputError
from kinfolk._core.outputs import claim


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "[" * 100_000,
        '{"new-1": 3}',
        '{"new-0123abcd": ["../../x", [4, "9"], null]}',
        '{"new-0123abcd": ["thesis.txt", [4, "9"], null]}',
        '{"new-0123abcd": ["a.npy/..", [4, "9"], null]}',
        '{"../x/new-0123abcd": ["a.npy", [4, "9"], null]}',
    ],
)
def test_a_damaged_list_of_names_is_refused(tmp_path: Path, content: str) -> None:
    work = tmp_path / ".a.npy.kinfolk"
    work.mkdir()
    (work / "new-0123abcd").write_text("evil")
    (tmp_path / "thesis.txt").write_text("mine")
    (work / "commit.json").write_text(content)
    with pytest.raises(InputError, match=r"commit.json is damaged"), claim(tmp_path / "a.npy"):
        pass
    with pytest.raises(InputError, match=r"commit.json is damaged"), claim(tmp_path / "a.npy"):
        pass  # the first refusal gave the lock back
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def begun(tmp_path: Path) -> tuple[Path, dict[Path, Path]]:
    """Return a work folder with a commit of two files: one replaces another, one is new."""
    work = tmp_path / ".a.npy.kinfolk"
    work.mkdir()
    files = {work / "new-00000001.npy": tmp_path / "a.npy", work / "new-00000002.npy": tmp_path / "a.labels.npy"}
    for new, target in files.items():
        new.write_text(f"new {target.name}")
    (tmp_path / "a.npy").write_text("old")
    write_commit(work / COMMIT, files)
    return work, files


@pytest.mark.parametrize("renamed", [0, 1, 2])
def test_what_a_kill_left_is_finished_from_any_step(tmp_path: Path, renamed: int) -> None:
    work, files = begun(tmp_path)
    for new, target in list(files.items())[:renamed]:
        new.replace(target)
    assert finish_commit(work, tmp_path)
    assert {target.read_text() for target in files.values()} == {"new a.npy", "new a.labels.npy"}
    assert list(work.iterdir()) == []
    assert finish_commit(work, tmp_path)  # nothing is left to do


def test_files_that_a_user_has_changed_since_are_kept(tmp_path: Path) -> None:
    work, files = begun(tmp_path)
    (tmp_path / "a.labels.npy").write_text("mine")
    assert not finish_commit(work, tmp_path)
    assert [target.read_text() for target in files.values()] == ["old", "mine"]


def test_half_of_them_replaced_and_changed_is_refused(tmp_path: Path) -> None:
    work, files = begun(tmp_path)
    new, target = next(iter(files.items()))
    new.replace(target)
    (tmp_path / "a.labels.npy").write_text("mine")
    with pytest.raises(InputError, match="was half replaced when kinfolk was killed"):
        finish_commit(work, tmp_path)
    assert (tmp_path / "a.labels.npy").read_text() == "mine"
