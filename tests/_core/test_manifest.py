from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kinfolk._core.manifest import Manifest, read_manifest, with_files, write_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "sub" / "b.txt").write_text("b")
    write_manifest(tmp_path, "example", 3)
    return tmp_path


def test_it_names_every_file_with_size_and_checksum(folder: Path) -> None:
    content = json.loads((folder / "manifest.json").read_text())
    assert (content["kind"], content["format"]) == ("example", 3)
    assert content["files"]["sub/b.txt"] == {
        "bytes": 1,
        "sha256": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
    }
    assert read_manifest(folder) == Manifest("example", 3, read_manifest(folder).files)  # type: ignore[union-attr]


def test_what_is_foreign_and_what_was_changed(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest is not None
    (folder / "a.txt").write_text("A")
    (folder / "sub" / "mine.txt").touch()
    (folder / "empty").mkdir()
    (folder / "link").symlink_to(folder / "sub")
    assert sorted(manifest.foreign(folder)) == ["empty", "link", "sub/mine.txt"]
    assert manifest.changed(folder) == ["a.txt"]
    (folder / "sub" / "b.txt").unlink()
    (folder / "sub" / "b.txt").symlink_to("/etc/hostname")
    assert manifest.changed(folder) == ["a.txt", "sub/b.txt"]


def test_only_named_files_are_removed(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest is not None
    (folder / "sub" / "mine.txt").write_text("mine")
    manifest.remove(folder)
    assert [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()] == ["sub/mine.txt"]
    (folder / "sub" / "mine.txt").unlink()
    manifest.remove(folder)
    assert not folder.exists()


def test_files_that_grow_have_no_checksum(folder: Path) -> None:
    (folder / "log.csv").write_text("1")
    manifest = with_files(Manifest("example"), folder, ["a.txt"], growing=["log.csv"])
    (folder / "log.csv").write_text("1, 2")
    assert manifest.changed(folder) == []
    assert manifest.files["log.csv"].sha256 is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"kinfolk": "0.2", "kind": "x", "format": 1, "files": {"../up.txt": {"bytes": 1, "sha256": null}}}',
        '{"kinfolk": "0.2", "kind": "x", "format": 1, "files": {"/etc/passwd": {"bytes": 1, "sha256": null}}}',
        '{"kinfolk": "0.2", "kind": "x", "format": 1, "files": ["a.txt"]}',
        '{"kinfolk": "0.2", "kind": 7, "format": 1, "files": {}}',
        '{"kinfolk": "0.2", "kind": "x", "format": "one", "files": {}}',
        '{"kinfolk": "0.2", "kind": "x", "format": 1e999, "files": {}}',
        '{"name": "a web page", "icons": []}',
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_something_else_under_its_name_is_no_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    assert read_manifest(tmp_path) is None


def test_nothing_is_removed_behind_a_link(tmp_path: Path) -> None:
    home, forged = tmp_path / "home", tmp_path / "forged"
    for place in (home, forged):
        place.mkdir()
    (home / "x").write_text("mine")
    (forged / "sub").symlink_to(home)
    facts = dict(bytes=4, sha256=None)
    content = dict(kinfolk="0.2.0", kind="graph", format=1, files={"sub/x": facts})
    (forged / "manifest.json").write_text(json.dumps(content))
    found = read_manifest(forged)
    assert found is not None
    found.remove(forged)
    assert (home / "x").read_text() == "mine"


def test_a_pipe_is_no_manifest_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    assert read_manifest(tmp_path) is None
